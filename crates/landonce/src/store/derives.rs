//! Derived tables on a store of any kind.

use std::sync::Arc;

use landonce_core::pipeline::Pipeline as Declared;
use landonce_store::seam::Access;

use super::on::{ask, on};
use super::{Pending, Store};
use crate::derive::{self, Checked, Derivation, Deriving};

impl Store {
    pub(crate) fn derive<'a>(
        &'a self,
        pipeline: &'a Arc<Declared>,
        options: &'a Deriving,
    ) -> Pending<'a, Vec<Derivation>> {
        on!(self, [pipeline, options], |database| derive::derive(database, pipeline, options).await)
    }

    pub(crate) fn check_derived<'a>(&'a self, pipeline: &'a Arc<Declared>) -> Pending<'a, Vec<Checked>> {
        ask!(self, Access::ReadOnly, [pipeline], |session| derive::check(session, pipeline).await)
    }
}
