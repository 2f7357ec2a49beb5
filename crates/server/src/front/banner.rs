//! The banner: what is served, where, what is cached by default, and out of which memory.

use crate::config::{AccessLog, Budget, Settings, TargetSettings, UpstreamSettings};

/// The banner's lines.
pub fn banner(settings: &Settings, addresses: &[String], admin: Option<&str>, workers: usize) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: &str| out.push_str(&format!("  {name:<10} {text}\n"));
    for site in &settings.sites.sites {
        let mut what = match settings.targets.get(site.fallback.0) {
            Some(TargetSettings::Files(f)) => format!("files in {}", f.root.display()),
            Some(TargetSettings::Http(u)) => format!("upstream {} ({})", u.name, places(u)),
            Some(TargetSettings::FastCgi(f)) => format!("FastCGI {}", places(&f.upstream)),
            None => "nothing".to_string(),
        };
        for (extension, id) in &site.handlers {
            if let Some(TargetSettings::FastCgi(f)) = settings.targets.get(id.0) {
                what.push_str(&format!(", {extension} by {}", places(&f.upstream)));
            }
        }
        let hosts = if site.default { "any host".to_string() } else { site.hosts.join(", ") };
        row("site", &format!("{}: {what} ({hosts})", site.name));
        row("cached", &format!("{}; {} rules", by_default(settings, site), site.rules.len()));
    }
    for address in addresses {
        row("listening", address);
    }
    if let Some(admin) = admin {
        row("admin", admin);
    }
    let from = match settings.memory.from {
        Budget::Written => "as configured".to_string(),
        Budget::CommandLine => "command line".to_string(),
        Budget::Machine { percent, of_bytes } => format!("{percent} % of this machine's {}", about(of_bytes)),
        Budget::ControlGroup { percent, of_bytes } => {
            format!("{percent} % of the control group's {}", about(of_bytes))
        }
        Budget::Guessed => "the machine's memory could not be found out".to_string(),
    };
    row("memory", &format!("{} ({from})", about(settings.memory.size_bytes)));
    let log = match &settings.log.access {
        AccessLog::Off => "off".to_string(),
        AccessLog::Stderr => "standard error".to_string(),
        AccessLog::File(path) => path.display().to_string(),
    };
    row("log", &log);
    row("workers", &workers.to_string());
    format!("samovar {}\n{out}", env!("CARGO_PKG_VERSION"))
}

fn by_default(settings: &Settings, site: &samovar_rules::Site) -> &'static str {
    use samovar_policy::LifetimeWish::{For, Never, Respect, UntilChanged, WhenSilent};
    let rule = settings.rule_for(site, &site.otherwise, site.fallback);
    match rule.wishes.lifetime {
        UntilChanged => "until the file changes",
        Respect => "as the origin's own fields say",
        WhenSilent(_) => "as the origin says, and for a while where it is silent",
        For(_) => "for a fixed time",
        Never => "nothing by default",
    }
}

/// Where the members of an upstream listen; of many the first few.
fn places(upstream: &UpstreamSettings) -> String {
    const SHOWN: usize = 3;
    let all: Vec<String> =
        upstream.places.iter().take(SHOWN).map(|place| show_address(&place.address)).collect();
    match upstream.places.len().saturating_sub(SHOWN) {
        0 => all.join(", "),
        more => format!("{} and {more} more", all.join(", ")),
    }
}

/// An address as people write it.
pub fn show_address(address: &samovar_origin::Address) -> String {
    match address {
        samovar_origin::Address::Tcp(host, port) if host.contains(':') => format!("[{host}]:{port}"),
        samovar_origin::Address::Tcp(host, port) => format!("{host}:{port}"),
        samovar_origin::Address::Unix(path) => format!("unix:{}", path.display()),
    }
}

/// Bytes to three figures: what a person wants to know of a budget.
pub fn about(bytes: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("KiB", 1_024.0)];
    let bytes = bytes as f64;
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}
