//! Which sites guard or exclude something, and by which rules: what `samovar check` says of them.
//!
//! No warning, as nothing is to be mended: a person who writes guards learns for what they hold. Not here: what a reading is,
//! and which rule it falls to (`samovar_rules::Guards`).

use super::settings::Settings;
use samovar_rules::Site;

/// One line for each site that guards or excludes something.
pub fn guarded_sites(settings: &Settings) -> Vec<String> {
    settings.sites.sites.iter().filter(|site| site.guards.any()).map(line).collect()
}

fn line(site: &Site) -> String {
    let rules = site.rules.iter().enumerate().filter(|(at, _)| site.guards.holds(Some(*at)));
    let mut names: Vec<&str> = rules.map(|(_, rule)| &*rule.id).collect();
    if site.guards.holds(None) {
        names.push("the site's own policy");
    }
    let odd = match site.guards.refuses() {
        true => "ambiguous paths are refused (ambiguous-path)",
        false => "ambiguous paths are passed on",
    };
    format!(
        "site \"{}\": whatever a path may be read as is held to {}; {odd} (docs/rules.md)",
        site.name,
        names.join(", ")
    )
}
