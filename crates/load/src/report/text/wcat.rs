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
//! All rates are of the measured window: those of requests, responses and bytes are the ones the rest of the report has
//! ([`Run::per_s`]), those of connects, reads and writes count what happened in it. Times of connects are of the whole run: a run
//! with a warm-up has made its connections before the window.
//!
//! Of runs stored before connects were counted so, these rows are left out rather than filled with zeros, and those of connections
//! have no rate. Total 2XX
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
    let all = &run.connections;
    match all.window {
        Some(window) => {
            in_window(run, out, "Total Connection Attempts", window.attempts);
            in_window(run, out, "Total Connect Errors", window.failed);
            in_window(run, out, "Total Success Connections", window.made);
            in_window(run, out, "Total Consec. Connect Errors", window.failed_in_a_row);
        }
        // Of the whole run, which is another time than the window is: no rate follows from it.
        None => {
            row(out, "Total Connection Attempts", &all.attempts.to_string(), "");
            row(out, "Total Connect Errors", &run.errors.connects.to_string(), "");
            row(out, "Total Success Connections", &all.made.to_string(), "");
            if let Some(connects) = all.connects {
                row(out, "Total Consec. Connect Errors", &connects.failed_in_a_row.to_string(), "");
            }
        }
    }
}

fn bytes(run: &Run, out: &mut String) {
    let (read, written) = (run.read_bytes_per_s, run.per_s(run.bytes.written));
    let rows = [
        ("Total Bytes", run.bytes.read + run.bytes.written, read + written),
        ("Total Bytes Written", run.bytes.written, written),
        ("Total Bytes Read", run.bytes.read, read),
    ];
    for (name, n, per_s) in rows {
        row(out, name, &n.to_string(), &format!("({:>5} KB/Sec)", whole(per_s / 1024.0)));
    }
}

fn counts(run: &Run, out: &mut String) {
    let kind = |codes: &[&str]| codes.iter().filter_map(|code| run.errors.kinds.get(*code)).sum::<u64>();
    count(run, out, "Total Requests", run.requests);
    // As WCAT counts them: whatever their status is.
    count(run, out, "Total Responses", run.whole_responses());
    match run.connections.window {
        Some(window) => {
            in_window(run, out, "Total Socket Reads", window.socket_reads);
            in_window(run, out, "Total Socket Writes", window.socket_writes);
        }
        None => {
            row(out, "Total Socket Reads", &run.connections.socket_reads.to_string(), "");
            row(out, "Total Socket Writes", &run.connections.socket_writes.to_string(), "");
        }
    }
    count(run, out, "Total Parse Errors", kind(&["parse", "excess"]));
    count(run, out, "Total Socket Errors", kind(&["reset", "closed", "short-body"]));
    count(run, out, "Total I/O Errors", kind(&["other"]));
    match run.connections.window {
        Some(window) => in_window(run, out, "Total Internal Errors", window.failed_for_want),
        None => row(out, "Total Internal Errors", &kind(&["no-ports", "no-files"]).to_string(), ""),
    }
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
    match run.connections.window {
        Some(window) => {
            in_window(run, out, "Total Asynchronous Connects", window.asynchronous);
            in_window(run, out, "Total Discarded Connects", window.given_up);
        }
        None => {
            row(out, "Total Asynchronous Connects", &connects.asynchronous.to_string(), "");
            row(out, "Total Discarded Connects", &connects.given_up.to_string(), "");
        }
    }
}

fn whole(per_s: f64) -> u64 {
    // What is 408 but for the last bit of a division is not 407.
    (per_s + 1e-6) as u64
}

/// A count of the measured requests, at the rate that the whole report has.
fn count(run: &Run, out: &mut String, name: &str, n: u64) {
    row(out, name, &n.to_string(), &format!("({:>5}/Sec)", whole(run.per_s(n))));
}

/// A count of what happened in the measured window.
fn in_window(run: &Run, out: &mut String, name: &str, n: u64) {
    row(out, name, &n.to_string(), &format!("({:>5}/Sec)", whole(run.in_window_per_s(n))));
}

/// The server's name and port, as WCAT has it; of several the first. Stored runs that do not say it have it from their
/// first URL, if that names a server: rows of scenarios have names of their own.
pub(in crate::report) fn server_name(run: &Run) -> String {
    if let Some(server) = run.asked.servers.first() {
        return server.clone();
    }
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
    use crate::report::model::{Connects, Window};
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
        run.connections.window = Some(Window {
            attempts: 541,
            made: 531,
            failed: 10,
            failed_in_a_row: 7,
            asynchronous: 531,
            given_up: 2,
            socket_reads: 8_720,
            socket_writes: 4_360,
            ..Window::default()
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
    fn one_quantity_has_one_rate() {
        // 20 of the responses came after the window: the rate of the report is of those inside it.
        let mut run = sample("a", 1_384.0);
        run.requests_per_s = 1_382.0;
        (run.connections.attempts, run.connections.made) = (20_000, 20_000);
        run.connections.window = Some(Window { attempts: 13_860, made: 13_850, ..Window::default() });
        let text = text(&run);
        for row in [
            "Total Connection Attempts   :          13860      ( 1386/Sec)",
            "Total Success Connections   :          13850      ( 1385/Sec)",
            "Total Requests              :          13840      ( 1382/Sec)",
            "Total Responses             :          13840      ( 1382/Sec)",
            "Total 200 OK                :          13840      ( 1382/Sec)",
            "Status 200                  :          13840      ( 1382/Sec)",
            "Total Bytes Read            :       50000000      ( 4882 KB/Sec)",
        ] {
            assert!(text.contains(&format!("\n{row}\n")), "{row} in {text}");
        }
        assert!(!text.contains("1384/Sec") && !text.contains("2000/Sec"), "{text}");
        // A stored run knows its connects of another time than the window: no rate is made of them.
        run.connections.window = None;
        assert!(super::tests::text(&run).contains("Total Connection Attempts   :          20000\n"));
    }

    #[test]
    fn the_server_is_the_server_whatever_the_first_row_is_called() {
        let mut run = sample("a", 436.0);
        run.asked.urls = vec!["/iisstart.htm".to_owned()];
        run.asked.servers = vec!["127.0.0.1:8080".to_owned()];
        let text = text(&run);
        assert!(text.contains("\nServer                      : 127.0.0.1:8080      ()\n"), "{text}");
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
