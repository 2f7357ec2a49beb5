//! What a configuration wants, whoever's it was: listeners, sites, scopes of paths, upstreams.
//!
//! The three rooms of sources fill this; `rules` turns overlapping scopes into rules of which the first that matches holds;
//! `render` writes it all as TOML. Not here: how any source spells it.

pub(crate) mod render;
mod rules;
mod select;
mod settings;
mod value;
mod wide;

pub(crate) use select::{PathSet, Select, alternatives, is_whole, regex};
pub(crate) use settings::{LIFETIMES, Settings, everybody};
pub(crate) use value::Value;
pub(crate) use wide::Wide;

use crate::note::Place;

/// Everything.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// `[server]`.
    pub(crate) server: Settings,
    /// `[limits]`.
    pub(crate) limits: Settings,
    /// `[memory]`.
    pub(crate) memory: Settings,
    /// `[compression]`.
    pub(crate) compression: Settings,
    /// `[log]`.
    pub(crate) log: Settings,
    /// `[hot]`.
    pub(crate) hot: Settings,
    /// `[[site]]`.
    pub(crate) sites: Vec<Site>,
    /// `[[upstream]]`.
    pub(crate) upstreams: Vec<Upstream>,
}

/// A site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    /// Its name, before it is made unique.
    pub(crate) name: String,
    /// Hosts, as they can be spelt.
    pub(crate) hosts: Vec<String>,
    /// Ports it is limited to.
    pub(crate) ports: Vec<u16>,
    /// Takes hosts that no site names.
    pub(crate) default: bool,
    /// Where it was declared.
    pub(crate) place: Option<Place>,
    /// Keys that only a site has: `files`, `upstream`, `handlers`, `index`, `listing`, `types`, `certificate`…
    pub(crate) head: Settings,
    /// What holds where, in the order of the source.
    pub(crate) scopes: Vec<Scope>,
    /// Where requests go: of those that take a request the first holds, and no other (httpd).
    pub(crate) passes: Vec<Scope>,
    /// How scopes that overlap go together.
    pub(crate) overlap: Overlap,
}

/// How scopes that overlap go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overlap {
    /// All that match hold, the later before the earlier (httpd, IIS).
    #[default]
    All,
    /// One holds: the scopes come in the order in which they are tried (nginx).
    First,
}

/// Settings of some paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// Which.
    pub(crate) select: Select,
    /// What holds for them.
    pub(crate) settings: Settings,
    /// Where it was declared.
    pub(crate) place: Option<Place>,
}

/// An upstream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Upstream {
    /// Its name, unique.
    pub(crate) name: String,
    /// Where it was declared.
    pub(crate) place: Option<Place>,
    /// Its members, each a table, with its place.
    pub(crate) members: Vec<(Vec<(String, Value)>, Place)>,
    /// All else.
    pub(crate) settings: Settings,
}

impl Site {
    /// Settings of a scope; the same scope is found again.
    pub(crate) fn scope(&mut self, select: &Select, place: &Place) -> &mut Settings {
        let at = match self.scopes.iter().position(|scope| scope.select == *select) {
            Some(at) if self.overlap == Overlap::All => at,
            _ => {
                let place = Some(place.clone());
                self.scopes.push(Scope { select: select.clone(), settings: Settings::default(), place });
                self.scopes.len() - 1
            }
        };
        // The index was found or made a line above.
        match self.scopes.get_mut(at) {
            Some(scope) => &mut scope.settings,
            None => &mut self.head,
        }
    }
}

/// Fields that Samovar writes itself, or that belong to one connection (RFC 9110 §7.6.1): nobody may set them.
pub(crate) fn is_ours(name: &str) -> bool {
    const OURS: [&str; 15] = [
        "age",
        "connection",
        "content-length",
        "content-range",
        "date",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
        "cache-status",
        "accept-ranges",
    ];
    OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours))
}
