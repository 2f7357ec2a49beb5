//! Reading stored runs: those of this version, with what earlier programs of it did not write filled in.
//!
//! Not here: what a run is ([`super::model`]).

use super::model::{Run, SCHEMA};
use crate::stats::Summary;

/// Reads a stored run.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn read(text: &str, name: &str) -> Result<Run, String> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| format!("{name}: not JSON: {error}"))?;
    match value.get("schema").and_then(|schema| schema.as_str()) {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("{name}: written as `{other}`, this thirst reads `{SCHEMA}`")),
        None => {
            return Err(format!(
                "{name}: not a report of thirst; write one with `thirst run URL --json {name}`"
            ));
        }
    }
    let mut run: Run =
        serde_json::from_value(value).map_err(|error| format!("{name}: the report is damaged: {error}"))?;
    run.summaries().for_each(Summary::mend);
    Ok(run)
}

impl Run {
    /// All distributions in it.
    fn summaries(&mut self) -> impl Iterator<Item = &mut Summary> {
        let all = &mut self.latency_us;
        let whole = [
            &mut all.connect,
            &mut all.first_byte,
            &mut all.last_byte,
            &mut all.hit_first_byte,
            &mut all.hit_last_byte,
            &mut all.miss_first_byte,
            &mut all.miss_last_byte,
            &mut all.failed,
            &mut all.tls,
            &mut all.response,
            &mut all.send_lag,
            &mut all.own_lag,
            &mut all.stale_first_byte,
            &mut all.stale_last_byte,
            &mut all.revalidated_first_byte,
            &mut all.revalidated_last_byte,
            &mut all.round,
        ];
        let of_steps = self.steps.iter_mut().flat_map(|step| {
            [&mut step.first_byte, &mut step.last_byte, &mut step.response, &mut step.send_lag]
        });
        whole.into_iter().chain(of_steps).flatten()
    }
}
