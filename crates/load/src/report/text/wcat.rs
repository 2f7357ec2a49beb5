//! WCAT's rows in WCAT's order, for those who have reports of it to compare.
//!
//! Rows of 5.x, then the `Status` rows of the console of 6.3. Every number is counted. What the names mean here:
//!
//! - Total Consec. Connect Errors: failed connects that came right after another one of the same client.
//! - Total Internal Errors: connects that failed for want of a port or a file of this machine; they are connect errors, too.
//! - Current Outstanding Connects: undecided at the end, and the most at once.
//! - Current Waitable Connects: the same numbers, as there is no connect here whose end could not be waited for.
//! - Total Asynchronous Connects: all that did not fail at once; the threads wait for none.
//! - Total Discarded Connects: given up before they were decided, by the timeout.
//!
//! Of runs stored before connects were counted so, these rows are left out rather than filled with zeros. Total 2XX
//! Other is a row of ours: WCAT counted 206 and its like as bad. Not here: `log.xml` ([`crate::report::xml`]).

use crate::report::model::Run;
use crate::report::units;
use crate::stats::Summary;

const RULER: &str = "########################################################################";

pub(super) fn wcat(run: &Run, out: &mut String) {
    line!(out, "{RULER}");
    line!(out, "Thirst Performance Statistics_______________________________");
    head(run, out);
    connections(run, out);
    bytes(run, out);
    counts(run, out);
    statuses(run, out);
    let latencies = &run.latency_us;
    times(out, "Connect Time", &latencies.connect);
    times(out, "Resp Time (1st Byte)", &latencies.first_byte);
    times(out, "Response Time (Last)", &latencies.last_byte);
    connects(run, out);
    line!(out, "{RULER}");
    for (status, n) in &run.statuses {
        count(run, out, &format!("Status {status}"), *n);
    }
    if !run.statuses.is_empty() {
        line!(out, "{RULER}");
    }
}

fn head(run: &Run, out: &mut String) {
    let asked = &run.asked;
    let transactions = match run.rounds.len() {
        0 => asked.urls.len(),
        rounds => rounds,
    };
    row(out, "Server", &server_name(run), "()");
    row(out, "#Transactions", &transactions.to_string(), "(HTTP/1.1)");
    row(
        out,
        "Total Async Sockets",
        &asked.connections.to_string(),
        &format!("({})", units::many(asked.threads.into(), "Pool Thread")),
    );
    let seconds = run.elapsed_s.round() as u64;
    let clock = format!("({} Hrs,{} Mins,{} Secs)", seconds / 3600, seconds / 60 % 60, seconds % 60);
    row(out, "Total Elapsed Time", &format!("{seconds} Secs"), &clock);
    row(out, "Current Connections", &run.connections.open_at_end.to_string(), "");
}

fn connections(run: &Run, out: &mut String) {
    count(run, out, "Total Connection Attempts", run.connections.attempts);
    count(run, out, "Total Connect Errors", run.errors.connects);
    count(run, out, "Total Success Connections", run.connections.made);
    if let Some(connects) = run.connections.connects {
        count(run, out, "Total Consec. Connect Errors", connects.failed_in_a_row);
    }
}

fn bytes(run: &Run, out: &mut String) {
    let rows = [
        ("Total Bytes", run.bytes.read + run.bytes.written),
        ("Total Bytes Written", run.bytes.written),
        ("Total Bytes Read", run.bytes.read),
    ];
    for (name, n) in rows {
        row(out, name, &n.to_string(), &format!("({:>5} KB/Sec)", per_s(run, n as f64 / 1024.0)));
    }
}

fn counts(run: &Run, out: &mut String) {
    let kind = |codes: &[&str]| codes.iter().filter_map(|code| run.errors.kinds.get(*code)).sum::<u64>();
    count(run, out, "Total Requests", run.requests);
    // As WCAT counts them: whatever their status is.
    count(run, out, "Total Responses", run.whole_responses());
    count(run, out, "Total Socket Reads", run.connections.socket_reads);
    count(run, out, "Total Socket Writes", run.connections.socket_writes);
    count(run, out, "Total Parse Errors", kind(&["parse", "excess"]));
    count(run, out, "Total Socket Errors", kind(&["reset", "closed", "short-body"]));
    count(run, out, "Total I/O Errors", kind(&["other"]));
    count(run, out, "Total Internal Errors", kind(&["no-ports", "no-files"]));
    count(run, out, "Total Time Outs", kind(&["timeout"]));
}

/// Whether a status has a row of its own; the rest is bad.
pub(in crate::report) fn is_bad(status: u16) -> bool {
    !((200..300).contains(&status) || is_redirect(status) || [304, 404, 500].contains(&status))
}

/// The redirects of 30X: 304 has a row of its own.
pub(in crate::report) fn is_redirect(status: u16) -> bool {
    (300..309).contains(&status) && status != 304
}

fn statuses(run: &Run, out: &mut String) {
    let status = |wanted: &dyn Fn(u16) -> bool| {
        run.statuses.iter().filter(|(s, _)| wanted(**s)).map(|(_, n)| n).sum::<u64>()
    };
    count(run, out, "Total 200 OK", status(&|s| s == 200));
    count(run, out, "Total 2XX Other", status(&|s| (201..300).contains(&s)));
    count(run, out, "Total 30X Redirect", status(&is_redirect));
    count(run, out, "Total 304 Not Modified", status(&|s| s == 304));
    count(run, out, "Total 404 Not Found", status(&|s| s == 404));
    count(run, out, "Total 500 Server Error", status(&|s| s == 500));
    count(run, out, "Total Bad Status", status(&is_bad));
}

fn connects(run: &Run, out: &mut String) {
    let Some(connects) = run.connections.connects else { return };
    let most = format!("({:>5} Max)", connects.in_flight_peak);
    row(out, "Current Outstanding Connects", &connects.in_flight_at_end.to_string(), &most);
    row(out, "Current Waitable Connects", &connects.in_flight_at_end.to_string(), &most);
    count(run, out, "Total Asynchronous Connects", connects.asynchronous);
    count(run, out, "Total Discarded Connects", connects.given_up);
}

fn per_s(run: &Run, n: f64) -> u64 {
    if run.elapsed_s > 0.0 { (n / run.elapsed_s) as u64 } else { 0 }
}

fn count(run: &Run, out: &mut String, name: &str, n: u64) {
    row(out, name, &n.to_string(), &format!("({:>5}/Sec)", per_s(run, n as f64)));
}

/// The server's name and port, as WCAT has it; of several the first.
pub(in crate::report) fn server_name(run: &Run) -> String {
    let url = run.asked.urls.first().map_or("", String::as_str);
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().filter(|name| !name.is_empty()).unwrap_or(rest).to_owned()
}

fn row(out: &mut String, name: &str, value: &str, aside: &str) {
    let text = format!("{name:<28}:{value:>15}      {aside}");
    line!(out, "{}", text.trim_end());
}

fn times(out: &mut String, name: &str, summary: &Option<Summary>) {
    let Some(summary) = summary else { return };
    for (which, us) in [("Min.", summary.min), ("Avg.", summary.avg), ("Max.", summary.max)] {
        let ms = us / 1e3;
        let text = if ms < 100.0 { format!("{ms:.3} MS") } else { format!("{ms:.0} MS") };
        row(out, &format!("{which} {name}"), &text, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::Connects;
    use crate::report::table::tests::sample;

    /// The names of the report in the walkthrough of output caching, in its order.
    const WCAT_5: [&str; 41] = [
        "Server",
        "#Transactions",
        "Total Async Sockets",
        "Total Elapsed Time",
        "Current Connections",
        "Total Connection Attempts",
        "Total Connect Errors",
        "Total Success Connections",
        "Total Consec. Connect Errors",
        "Total Bytes",
        "Total Bytes Written",
        "Total Bytes Read",
        "Total Requests",
        "Total Responses",
        "Total Socket Reads",
        "Total Socket Writes",
        "Total Parse Errors",
        "Total Socket Errors",
        "Total I/O Errors",
        "Total Internal Errors",
        "Total Time Outs",
        "Total 200 OK",
        "Total 30X Redirect",
        "Total 304 Not Modified",
        "Total 404 Not Found",
        "Total 500 Server Error",
        "Total Bad Status",
        "Min. Connect Time",
        "Avg. Connect Time",
        "Max. Connect Time",
        "Min. Resp Time (1st Byte)",
        "Avg. Resp Time (1st Byte)",
        "Max. Resp Time (1st Byte)",
        "Min. Response Time (Last)",
        "Avg. Response Time (Last)",
        "Max. Response Time (Last)",
        "Current Outstanding Connects",
        "Current Waitable Connects",
        "Total Asynchronous Connects",
        "Total Discarded Connects",
        "Status 200",
    ];

    fn text(run: &Run) -> String {
        let mut out = String::new();
        wcat(run, &mut out);
        out
    }

    fn names(text: &str) -> Vec<&str> {
        text.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim()).collect()
    }

    #[test]
    fn the_rows_stand_in_wcats_columns() {
        let text = text(&sample("a", 436.0));
        let row = text.lines().find(|line| line.starts_with("Total Requests")).unwrap();
        assert_eq!(row, "Total Requests              :           4360      (  436/Sec)");
        assert!(text.contains("\nServer                      :         a:8080      ()\n"), "{text}");
        assert!(text.contains("Avg. Response Time (Last)   :       2.501 MS"), "{text}");
        assert!(text.contains("\nStatus 200                  :           4360      (  436/Sec)\n"), "{text}");
        let rows = text.lines().filter(|line| line.contains(':'));
        let colons: Vec<usize> = rows.map(|line| line.find(':').unwrap()).collect();
        assert!(colons.len() > 25 && colons.iter().all(|at| *at == 28), "{colons:?}");
    }

    #[test]
    fn all_rows_of_wcat_are_there_in_its_order() {
        let mut run = sample("a", 436.0);
        run.latency_us.connect = run.latency_us.first_byte.clone();
        run.connections.connects = Some(Connects {
            asynchronous: 531,
            in_flight_at_end: 3,
            in_flight_peak: 20,
            failed_in_a_row: 7,
            given_up: 2,
        });
        let text = text(&run);
        let ours: Vec<&str> = names(&text).into_iter().filter(|name| *name != "Total 2XX Other").collect();
        assert_eq!(ours, WCAT_5);
        for row in [
            "Total Consec. Connect Errors:              7      (    0/Sec)",
            "Current Outstanding Connects:              3      (   20 Max)",
            "Current Waitable Connects   :              3      (   20 Max)",
            "Total Asynchronous Connects :            531      (   53/Sec)",
            "Total Discarded Connects    :              2      (    0/Sec)",
        ] {
            assert!(text.contains(&format!("\n{row}\n")), "{row} in {text}");
        }
    }

    #[test]
    fn what_a_stored_run_did_not_count_has_no_row() {
        let text = text(&sample("a", 436.0));
        for name in ["Consec.", "Outstanding", "Waitable", "Asynchronous", "Discarded", "Connect Time"] {
            assert!(!text.contains(name), "{name}");
        }
    }

    #[test]
    fn every_status_has_a_row_in_both_orders() {
        let mut run = sample("a", 10.0);
        run.statuses = [(200, 50), (206, 1), (302, 2), (304, 3), (404, 4), (500, 5), (503, 6)].into();
        let text = text(&run);
        for row in [
            "Total 30X Redirect          :              2",
            "Total Bad Status            :              6",
            "Status 503                  :              6",
        ] {
            assert!(text.contains(row), "{row} in {text}");
        }
    }
}
