//! The parser against tables, and against a writer of its own that says each sample in a style of its own.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn one(line: &str) -> Sample<'_> {
    let text = parse(line).unwrap();
    assert_eq!((text.samples.len(), text.first_malformed), (1, None), "{line}");
    text.samples.into_iter().next().unwrap()
}

#[test]
fn lines_that_are_samples() {
    for (line, series, value) in [
        ("up 1", "up", 1.0),
        ("  up\t 1  \r", "up", 1.0),
        ("a:b_c9 -2.5e3", "a:b_c9", -2_500.0),
        ("a{} 1", "a", 1.0),
        ("a {b=\"c\"} 1", "a{b=\"c\"}", 1.0),
        ("a{b=\"c\",} 1", "a{b=\"c\"}", 1.0),
        ("a{ b = \"c\" , d=\"\" }1", "a{b=\"c\",d=\"\"}", 1.0),
        ("a{z=\"1\",b=\"2\"} 1", "a{b=\"2\",z=\"1\"}", 1.0),
        (r#"a{b="q\"u\\o\nt\x}, "} 1"#, r#"a{b="q\"u\\o\nt\\x}, "}"#, 1.0),
        ("a{b=\"ö {},=\"} 1", "a{b=\"ö {},=\"}", 1.0),
        ("a 1 1395066363000", "a", 1.0),
        ("a 1 -3982045", "a", 1.0),
        ("a_bucket{le=\"+Inf\"} 7 # {trace_id=\"a b\"} 0.67 1520879607.7", "a_bucket{le=\"+Inf\"}", 7.0),
        ("a 7 1520879607.789 # {t=\"x\"} 0.67", "a", 7.0),
        ("a +Inf", "a", f64::INFINITY),
        ("a -Inf 3", "a", f64::NEG_INFINITY),
    ] {
        let sample = one(line);
        assert_eq!((sample.series().as_str(), sample.value), (series, value), "{line}");
    }
    assert!(one("a NaN").value.is_nan());
}

#[test]
fn lines_that_are_none_are_counted_and_the_others_kept() {
    let broken = [
        "a",
        "a ",
        "a b",
        "1a 1",
        "{a=\"b\"} 1",
        "a{b=\"c} 1",
        "a{b=c} 1",
        "a{b} 1",
        "a{b=\"c\" 1",
        "a{b=\"c\"d=\"e\"} 1",
        "a{,} 1",
        "a{b=\"c\"}",
        "a 1 x",
        "a 1 2 3",
        "a-b 1",
        "a{b-c=\"d\"} 1",
        "a{b:c=\"d\"} 1",
        "<html>",
        "a\u{e4} 1",
        "a{b=\"c\\",
        "a{",
        "a 0x1",
        "=",
    ];
    for line in broken {
        let text = format!("before 1\n{line}\nafter 2\n");
        let read = parse(&text).unwrap();
        let names: Vec<&str> = read.samples.iter().map(|sample| sample.name).collect();
        assert_eq!((names, read.malformed), (vec!["before", "after"], 1), "{line}");
        assert_eq!(read.first_malformed.unwrap().0, 2, "{line}");
    }
    for nothing in ["", "\n\n", "# EOF\n", "#", "# HELP a b\n# TYPE\n# TYPE a\n#TYPE a gauge"] {
        assert_eq!(parse(nothing).unwrap(), Text::default(), "{nothing}");
    }
}

#[test]
fn kinds_are_of_families_in_both_dialects() {
    let text = "\u{feff}# TYPE a counter
a_total 1
a_created 1
# TYPE b_total counter
b_total 1
# TYPE h histogram
h_bucket{le=\"1\"} 1
h_sum 1
h_count 1
h_total 1
# TYPE s summary
s{quantile=\"0.5\"} 1
s_sum 1
s_count 1
# TYPE g gauge
g 1
# TYPE u unknown
u 1
u_total 1
lonely 1
# EOF
";
    let read = parse(text).unwrap();
    let seen: Vec<_> = read.samples.iter().map(|s| (s.name, s.kind, s.grows())).collect();
    let wanted = [
        ("a_total", Kind::Counter, true),
        ("a_created", Kind::Gauge, false),
        ("b_total", Kind::Counter, true),
        ("h_bucket", Kind::Histogram, true),
        ("h_sum", Kind::Histogram, true),
        ("h_count", Kind::Histogram, true),
        ("h_total", Kind::Untyped, true),
        ("s", Kind::Summary, false),
        ("s_sum", Kind::Summary, true),
        ("s_count", Kind::Summary, true),
        ("g", Kind::Gauge, false),
        ("u", Kind::Untyped, false),
        ("u_total", Kind::Untyped, true),
        ("lonely", Kind::Untyped, false),
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn too_much_is_refused_and_says_what_to_do() {
    let many = "a 1\n".repeat(SAMPLES_MAX);
    assert_eq!(parse(&many).unwrap().samples.len(), SAMPLES_MAX);
    assert_eq!(parse(&format!("{many}a 1\n")), Err(TooMuch::Samples));
    let long = "#".repeat(TEXT_MAX_BYTES + 1);
    let refused = parse(&long).unwrap_err();
    assert_eq!(refused, TooMuch::Bytes(TEXT_MAX_BYTES + 1));
    assert!(refused.to_string().contains("fewer"));
}

/// A sample as the oracle means it.
#[derive(Clone, Debug)]
struct Meant {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

fn meant() -> impl Strategy<Value = Meant> {
    let value = prop_oneof![
        any::<f64>().prop_filter("NaN is not equal to itself", |v| !v.is_nan()),
        (0_u32..1000).prop_map(f64::from),
    ];
    let label = ("[a-zA-Z_][a-zA-Z0-9_]{0,5}", any::<String>());
    ("[a-zA-Z_:][a-zA-Z0-9_:]{0,8}", vec(label, 0..4), value).prop_map(|(name, labels, value)| Meant {
        name,
        labels,
        value,
    })
}

/// Writes it as the format has it, with blanks and tails of a kind.
fn written(meant: &Meant, style: u8) -> String {
    let blank = if style & 1 == 0 { " " } else { " \t " };
    let mut labels = String::new();
    for (name, value) in &meant.labels {
        labels.push_str(name);
        labels.push_str("=\"");
        for c in value.chars() {
            match c {
                '\\' => labels.push_str("\\\\"),
                '"' => labels.push_str("\\\""),
                '\n' => labels.push_str("\\n"),
                c => labels.push(c),
            }
        }
        labels.push_str("\",");
    }
    let labels = match (meant.labels.is_empty(), style & 2 == 0) {
        (true, true) => blank.to_owned(),
        (_, true) => format!("{{{labels}}}{blank}"),
        (_, false) => format!("{{{}}}{blank}", labels.trim_end_matches(',')),
    };
    let value = match meant.value {
        v if v == f64::INFINITY => "+Inf".to_owned(),
        v if v == f64::NEG_INFINITY => "-Inf".to_owned(),
        v if style & 4 == 0 => format!("{v:e}"),
        v => v.to_string(),
    };
    let tail = match style & 24 {
        8 => " 1395066363000",
        16 => " # {a=\"b\"} 1",
        24 => " 1.5 # {} 1 2",
        _ => "",
    };
    format!("{}{labels}{value}{tail}", meant.name)
}

proptest! {
    #[test]
    fn what_was_written_is_read(all in vec((meant(), any::<u8>()), 0..20)) {
        let lines: Vec<String> = all.iter().map(|(meant, style)| written(meant, *style)).collect();
        let text = lines.join("\n# a comment\n\n");
        let read = parse(&text).unwrap();
        prop_assert_eq!((read.malformed, read.samples.len()), (0, all.len()), "{}", text);
        for ((meant, _), sample) in all.iter().zip(&read.samples) {
            let labels: Vec<_> = sample.labels.iter().map(|(n, v)| ((*n).to_owned(), v.to_string())).collect();
            prop_assert_eq!((sample.name, &labels, sample.value), (meant.name.as_str(), &meant.labels, meant.value));
        }
    }

    #[test]
    fn any_text_is_read_and_each_line_counts_once(text in "[a\"{}=,\\\\ n1#\n.]{0,60}|\\PC{0,40}") {
        let read = parse(&text).unwrap();
        let lines = text.split('\n').map(|l| l.trim_matches([' ', '\t', '\r']));
        let said = lines.filter(|l| !l.is_empty() && !l.starts_with('#')).count();
        prop_assert_eq!(read.samples.len() + read.malformed, said);
    }

    #[test]
    fn a_series_reads_back_as_itself(meant in meant()) {
        let text = written(&meant, 0);
        let series = parse(&text).unwrap().samples[0].series();
        let again = format!("{series} 1");
        prop_assert_eq!(parse(&again).unwrap().samples[0].series(), series);
    }
}
