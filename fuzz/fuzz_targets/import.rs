//! A configuration of another server: any bytes must be told in TOML or refused with their place, without a panic.
//!
//! The first byte says whose it is; 0x1e parts the file from one that it may include as `other.conf`. What it finds goes to
//! `corpus/import/`, which `cargo test` replays.
#![no_main]

use libfuzzer_sys::fuzz_target;
use samovar_import::{Ask, File, Options, Source, import};

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let source = match first % 3 {
        0 => Source::Iis,
        1 => Source::Apache,
        _ => Source::Nginx,
    };
    let mut parts = rest.splitn(2, |byte| *byte == 0x1e).map(<[u8]>::to_vec);
    let file = File { name: "main.conf".into(), bytes: parts.next().unwrap_or_default() };
    let other = File { name: "other.conf".into(), bytes: parts.next().unwrap_or_default() };
    let mut read = |ask: &Ask<'_>| if ask.pattern == "other.conf" { Ok(vec![other.clone()]) } else { Err("none".into()) };
    match import(source, &file, &Options::default(), &mut read) {
        Ok(imported) => {
            let parsed = samovar::config::parse(&imported.toml, "imported.toml");
            // Keys may be refused for what they say; the text itself is TOML.
            if let Err(report) = parsed {
                assert!(!report.diagnostics.iter().any(|d| d.code == samovar::config::Code::Syntax), "{}", imported.toml);
            }
        }
        Err(refused) => assert!(refused.to_string().contains(".conf:")),
    }
});
