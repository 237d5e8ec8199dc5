//! A pipeline held against a catalogue.

/// Why a pipeline can't write into a table.
#[derive(Debug, thiserror::Error)]
#[error("not yet")]
pub struct PlanError;

/// Placeholder until the pipeline's declaration exists.
pub fn resolve() -> Result<(), PlanError> {
    Ok(())
}
