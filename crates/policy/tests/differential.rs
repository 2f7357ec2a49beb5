//! Every field parser against a second, naive one (`naive/`), over good, odd and broken forms.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test stops at its first surprise"
)]

mod naive;

/// Splitmix: the same forms in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.roll(words.len())]
    }

    /// A line of words, now and then with a byte damaged, dropped or doubled.
    fn line(&mut self, words: &[&str], glue: &[&str], most: usize) -> Vec<u8> {
        let mut text = String::new();
        for n in 0..self.roll(most + 1) {
            if n > 0 {
                text.push_str(self.pick(glue));
            }
            text.push_str(self.pick(words));
        }
        let mut bytes = text.into_bytes();
        if self.roll(3) == 0 && !bytes.is_empty() {
            let at = self.roll(bytes.len());
            match self.roll(3) {
                0 => bytes[at] = b" \t\",=;-*0aZ\\\x80\xff:"[self.roll(15)],
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b" \t\",=;-*0aZ\\\x80\xff:"[self.roll(15)]),
            }
        }
        bytes
    }

    fn lines(&mut self, words: &[&str], glue: &[&str], most: usize) -> Vec<Vec<u8>> {
        (0..1 + self.roll(8) / 6).map(|_| self.line(words, glue, most)).collect()
    }
}

/// Cases of each field; a few seconds in all.
const CASES: usize = 60_000;

const DIRECTIVES: [&str; 38] = [
    "max-age=60",
    "max-age=0",
    "max-age=99999999999",
    "max-age=2147483648",
    "MaX-aGe=60",
    "max-age=\"60\"",
    "max-age='60'",
    "max-age",
    "max-age=",
    "max-age =60",
    "max-age= 60",
    "max-age=-60",
    "max-age=60.5",
    "max-age=060",
    "max-age=a100",
    "s-maxage=10",
    "s-maxage=x",
    "stale-while-revalidate=5",
    "stale-if-error=7",
    "stale-if-error=\"7\"",
    "no-store",
    "No-Store",
    "no-cache",
    "no-cache=\"a\"",
    "no-cache=a",
    "private",
    "private=\"x-a, x-b\"",
    "private=\"date\"",
    "private=\"\"",
    "public",
    "must-revalidate",
    "proxy-revalidate",
    "must-understand",
    "ext=\"no-store, max-age=1\"",
    "ext=\"a\\\"b, no-store\"",
    "ext=\"open",
    "immutable",
    "",
];

#[test]
fn cache_control() {
    let mut dice = Dice(1);
    for _ in 0..CASES {
        naive::judge_cache_control(&dice.lines(&DIRECTIVES, &[", ", ",", " ,", ";"], 4));
    }
}

const MEMBERS: [&str; 34] = [
    "max-age=60",
    "max-age=0",
    "max-age=-1",
    "max-age=60.5",
    "max-age=\"60\"",
    "max-age=999999999999999",
    "max-age=9999999999999999",
    "max-age=99999999999",
    "max-age",
    "max-age=?0",
    "max-age =60",
    "MAX-AGE=60",
    "s-maxage=5",
    "no-store",
    "no-store=?0",
    "no-store=1",
    "no-cache",
    "no-cache=\"x-a\"",
    "private",
    "private=\"x-a\"",
    "private=\"date\"",
    "private=x",
    "public;a=1;b",
    "must-revalidate",
    "stale-if-error=9",
    "foo=(1 2)",
    "foo=(\"a\";x=1 b)",
    "foo=(1",
    "foo=:YWI=:",
    "foo=:a",
    "foo=tok/en:x",
    "*a=1",
    "&&&",
    "",
];

#[test]
fn targeted_fields() {
    let mut dice = Dice(2);
    for _ in 0..CASES {
        naive::judge_targeted(&dice.lines(&MEMBERS, &[", ", ",", " , ", "\t,"], 4));
    }
}

const GROUPS: [&str; 11] =
    ["\"a\"", "\"b c\"", "\"\"", "a", "\"a\\\"\"", "\"a\\x\"", "\"a", "\"a\";p=1", "(\"a\")", "1", ""];

#[test]
fn groups() {
    let mut dice = Dice(3);
    for _ in 0..CASES {
        naive::judge_groups(&dice.lines(&GROUPS, &[", ", ",", " ", "\t, "], 4));
    }
}

#[test]
fn dates() {
    let mut dice = Dice(4);
    const DAYS: [&str; 8] = ["Sun", "THU", "fri", "Sunday", "THURSDAY", "Xyz", "Sun,", ""];
    const MONTHS: [&str; 6] = ["Nov", "FEB", "aug", "Jan", "Xxx", "Dec"];
    for _ in 0..CASES * 3 {
        let (day, month) = (dice.pick(&DAYS), dice.pick(&MONTHS));
        let n = dice.pick(&["06", "6", " 6", "31", "29", "30", "00", "32"]);
        let year = dice.pick(&[
            "1994", "2026", "2050", "94", "76", "77", "1969", "0001", "9999", "2024", "1900", "2000",
        ]);
        let clock =
            dice.pick(&["08:49:37", "23:59:60", "24:00:00", "8:49:37", "08.49.37", "00:00:00", "08:60:00"]);
        let zone = dice.pick(&["GMT", "gMT", "UTC", "AEST", "", "GMT "]);
        let text = match dice.roll(5) {
            0 | 1 => format!("{day}, {n} {month} {year} {clock} {zone}"),
            2 => format!("{day}, {n}-{month}-{year} {clock} {zone}"),
            3 => format!("{day} {month} {n} {clock} {year}"),
            _ => {
                String::from_utf8_lossy(&dice.line(&[day, month, n, year, clock, zone, ","], &[" ", "-"], 8))
                    .into_owned()
            }
        };
        naive::judge_date(text.as_bytes());
        let mut lines = vec![text.clone().into_bytes()];
        if dice.roll(10) == 0 {
            lines.push(if dice.roll(2) == 0 { text.into_bytes() } else { b"0".to_vec() });
        }
        naive::judge_expires(&lines);
    }
}

#[test]
fn ages() {
    let mut dice = Dice(5);
    let words =
        ["0", "60", "7200", "007", "2147483648", "99999999999999999999999", "-1", "1.5", "a", "", "60;x=1"];
    for _ in 0..CASES {
        naive::judge_age(&dice.lines(&words, &[",", ", ", " "], 3));
    }
}

#[test]
fn vary() {
    let mut dice = Dice(6);
    let words = ["Accept", "accept-language", "X-A", "*", "**", "a b", "\"x\"", "", "\u{e9}"];
    for _ in 0..CASES {
        naive::judge_vary(&dice.lines(&words, &[",", ", ", " ,", ";"], 4));
    }
}

#[test]
fn entity_tags() {
    let mut dice = Dice(7);
    let words = [
        "\"a\"", "W/\"a\"", "w/\"a\"", "\"b\"", "\"a,b\"", "a", "*", "\"a", "W/a", "\"\"", "\"a\\\"",
        "W\\\"a\"",
    ];
    for _ in 0..CASES {
        let own = dice.pick(&["\"a\"", "W/\"a\"", "\"a,b\"", "\"\"", "a", "w/\"a\""]);
        naive::judge_none_match(&dice.lines(&words, &[",", ", ", " "], 4), own.as_bytes());
    }
}

#[test]
fn ranges() {
    let mut dice = Dice(8);
    let words = [
        "0-4",
        "5-",
        "-3",
        "-0",
        "9-9",
        "3-1",
        "10-20",
        "0-99999999999999999999",
        "99999999999999999999-",
        "-",
        "a-b",
        "2 - 3",
        "",
    ];
    for _ in 0..CASES {
        let mut line =
            dice.pick(&["bytes=", "BYTES=", "bytes", "bytes =", "lines=", " bytes="]).as_bytes().to_vec();
        line.extend(dice.line(&words, &[",", ", ", " "], 3));
        naive::judge_range(&line, dice.roll(12) as u64);
    }
    let many = format!("bytes={}", (0..17).map(|n| format!("{n}-{n}")).collect::<Vec<_>>().join(","));
    naive::judge_range(many.as_bytes(), 40);
}

/// What fuzzing found, and the seeds it began with (`fuzz/corpus/fields`).
#[test]
fn the_corpus() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/fields");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        naive::judge_bytes(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 9, "only {seen}");
}
