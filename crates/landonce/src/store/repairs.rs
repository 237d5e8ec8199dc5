//! Repairs on a store of any kind.

use landonce_store::seam::Access;

use super::on::ask;
use super::{Pending, Store};
use crate::repair;

impl Store {
    pub(crate) fn dedupe<'a>(
        &'a self,
        dedupe: &'a repair::Dedupe,
        options: &'a repair::Options,
        access: Access,
    ) -> Pending<'a, repair::Report> {
        ask!(self, access, [dedupe, options], |session| repair::dedupe(session, dedupe, options, access)
            .await)
    }

    pub(crate) fn rekey<'a>(
        &'a self,
        keys: &'a repair::Keys,
        options: &'a repair::Options,
        access: Access,
    ) -> Pending<'a, repair::KeysReport> {
        ask!(self, access, [keys, options], |session| repair::rekey(session, keys, options, access).await)
    }

    pub(crate) fn lost<'a>(
        &'a self,
        lost: &'a repair::Lost,
        options: &'a repair::Options,
        access: Access,
    ) -> Pending<'a, repair::LostReport> {
        ask!(self, access, [lost, options], |session| repair::lost(session, lost, options, access).await)
    }

    pub(crate) fn notices<'a>(
        &'a self,
        notices: &'a repair::Notices,
        options: &'a repair::Options,
        access: Access,
    ) -> Pending<'a, repair::NoticesReport> {
        ask!(self, access, [notices, options], |session| repair::notices(session, notices, options, access)
            .await)
    }
}
