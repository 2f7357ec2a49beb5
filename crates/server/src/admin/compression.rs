//! What compression did, for people and for Prometheus: bytes before and after by media type and coding, what the stored
//! forms cost, and how busy the cores are.

use crate::compress::{FormsMade, Kept, Row};
use crate::state::Shared;
use samovar_policy::Coding;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Sums of one media type in one coding over all cores.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    answers: u64,
    before_bytes: u64,
    after_bytes: u64,
    cpu_us: u64,
}

type Sums = BTreeMap<(String, Coding, Kept), Sum>;

fn sums(app: &Shared) -> Sums {
    let mut sums = Sums::new();
    let rows = app.counters.iter().flat_map(|core| core.coded.rows());
    for row in rows {
        let Row { media, coding, kept, .. } = &*row;
        let sum = sums.entry((media.to_string(), *coding, *kept)).or_default();
        sum.answers += row.answers.get();
        sum.before_bytes += row.before_bytes.get();
        sum.after_bytes += row.after_bytes.get();
        sum.cpu_us += row.cpu_us.get();
    }
    sums
}

fn word(kept: Kept) -> &'static str {
    match kept {
        Kept::Stored => "stored",
        Kept::OnTheFly => "on-the-fly",
    }
}

/// All of it in one object.
pub fn told(app: &Shared) -> Value {
    let answers = sums(app).into_iter().map(|((media, coding, kept), sum)| {
        json!({ "type": media, "coding": coding.name(), "form": word(kept), "answers": sum.answers,
            "before_bytes": sum.before_bytes, "after_bytes": sum.after_bytes, "cpu_us": sum.cpu_us })
    });
    let forms = app.compress.made().into_iter().map(|(media, coding, made)| {
        let FormsMade { made, worthless, before_bytes, after_bytes, cpu_us } = made;
        json!({ "type": media, "coding": coding.name(), "made": made, "worthless": worthless,
            "before_bytes": before_bytes, "after_bytes": after_bytes, "cpu_us": cpu_us })
    });
    json!({
        "v": 1,
        "answers": answers.collect::<Vec<_>>(),
        "forms": forms.collect::<Vec<_>>(),
        "threads": app.compress.threads(),
        "waiting": app.compress.waiting(),
        "given_up": app.compress.refused(),
        "streams": app.counters.iter().map(|core| core.coding_streams.get()).sum::<u64>(),
        "busy_percent": app.counters.iter().map(|core| core.busy_percent.get()).collect::<Vec<_>>(),
    })
}

/// The metrics.
pub fn metrics(app: &Shared, head: &mut impl FnMut(&str, &str, &str, &[(String, f64)])) {
    let sums = sums(app);
    let rows = |pick: fn(&Sum) -> f64| -> Vec<(String, f64)> {
        sums.iter()
            .map(|((media, coding, kept), sum)| {
                let media = media.replace(['\\', '"', '\n'], "_");
                let labels =
                    format!("{{type=\"{media}\",coding=\"{}\",form=\"{}\"}}", coding.name(), word(*kept));
                (labels, pick(sum))
            })
            .collect()
    };
    head("samovar_coded_responses", "counter", "Compressed answers.", &rows(|sum| sum.answers as f64));
    head(
        "samovar_coded_before_bytes",
        "counter",
        "Body bytes that compressed answers would have had.",
        &rows(|sum| sum.before_bytes as f64),
    );
    head(
        "samovar_coded_after_bytes",
        "counter",
        "Body bytes that compressed answers had.",
        &rows(|sum| sum.after_bytes as f64),
    );
    head(
        "samovar_coded_cpu_seconds",
        "counter",
        "Processor time for compressing answers while they were sent.",
        &rows(|sum| sum.cpu_us as f64 / 1e6),
    );
    let forms = app.compress.made();
    let rows = |pick: fn(&FormsMade) -> f64| -> Vec<(String, f64)> {
        forms
            .iter()
            .map(|(media, coding, made)| {
                let media = media.replace(['\\', '"', '\n'], "_");
                (format!("{{type=\"{media}\",coding=\"{}\"}}", coding.name()), pick(made))
            })
            .collect()
    };
    head("samovar_coded_forms", "counter", "Coded forms of stored answers made.", &rows(|f| f.made as f64));
    head(
        "samovar_coded_forms_cpu_seconds",
        "counter",
        "Processor time for coded forms of stored answers, in the background.",
        &rows(|f| f.cpu_us as f64 / 1e6),
    );
}
