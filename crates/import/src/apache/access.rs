//! Who may: `Order`, `Allow`, `Deny` of 2.2, `Require` of 2.4, basic authentication.
//!
//! A guard that is not understood closes its paths to everybody, with a line that says so: what httpd kept closed must not
//! be opened by an import.

use crate::draft::Draft;
use crate::note::{Fate, Place};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{Select, Site, Value};

/// The guards of one section.
#[derive(Debug, Default)]
pub(crate) struct Access {
    place: Option<Place>,
    allow: Vec<String>,
    deny: Vec<String>,
    /// `Allow from all`, `Require all granted`.
    all_allowed: bool,
    /// `Deny from all`, `Require all denied`.
    all_denied: bool,
    /// `Order Allow,Deny`: who is not named may not, and a denial wins.
    allow_first: bool,
    ordered: bool,
    /// By `Require`: only those that are named may.
    required: bool,
    user: bool,
    satisfy_any: bool,
    basic: bool,
    realm: Option<String>,
    users: Option<(String, Place)>,
    /// What was not understood, and what it was.
    closed: Option<String>,
}

const GUARDS: [&str; 14] = [
    "Order",
    "Allow",
    "Deny",
    "Require",
    "Satisfy",
    "AuthType",
    "AuthName",
    "AuthUserFile",
    "AuthGroupFile",
    "AuthBasicProvider",
    "AuthDigestProvider",
    "AuthDigestDomain",
    "SSLRequireSSL",
    "SSLVerifyClient",
];

impl Access {
    /// Whether a directive is about who may.
    pub(crate) fn is_guard(d: &Directive) -> bool {
        GUARDS.iter().any(|name| d.is(name)) || d.name.to_ascii_lowercase().starts_with("require")
    }

    /// Whether it lets everybody in, and so keeps nobody out where it is left out.
    pub(crate) fn opens(d: &Directive) -> bool {
        let words = d.args.join(" ").to_ascii_lowercase();
        (d.is("Require") && words == "all granted") || (d.is("Allow") && words == "from all")
    }

    /// Takes a directive, if it is one of these.
    pub(crate) fn take(&mut self, d: &Directive, draft: &mut Draft<'_>) -> bool {
        if !Access::is_guard(d) || d.is("SSLRequireSSL") || d.is("SSLVerifyClient") {
            return false;
        }
        self.place.get_or_insert_with(|| d.place.clone());
        let carried =
            |draft: &mut Draft<'_>, text: &str| draft.note(&d.place, &d.shown(), Fate::Carried, text);
        match d.name.to_ascii_lowercase().as_str() {
            "order" => {
                self.ordered = true;
                // `Order Allow,Deny` and, before commas were the custom, `mutual-failure`.
                self.allow_first = !d.args.concat().to_ascii_lowercase().starts_with("deny");
                carried(draft, "allow and deny");
            }
            "allow" | "deny" => {
                self.ordered = true;
                let allows = d.is("Allow");
                for who in d.args.iter().filter(|a| !a.eq_ignore_ascii_case("from")) {
                    self.from(who, allows, d, draft);
                }
            }
            "require" => {
                self.required = true;
                self.require(&d.args, d, draft);
            }
            "satisfy" => {
                self.satisfy_any = d.arg(0).eq_ignore_ascii_case("any");
                carried(draft, "allow, deny and basic_auth");
            }
            "authtype" => {
                self.basic = d.arg(0).eq_ignore_ascii_case("Basic");
                if self.basic {
                    carried(draft, "basic_auth");
                } else {
                    draft.note(
                        &d.place,
                        &d.shown(),
                        Fate::LeftOut,
                        "Samovar asks for basic credentials only",
                    );
                }
            }
            "authname" => {
                self.realm = spell::field_value(d.arg(0)).filter(|t| !t.contains(['"', '\\']));
                carried(draft, "basic_auth.realm");
            }
            "authuserfile" => {
                self.users = Some((d.arg(0).to_owned(), d.place.clone()));
                carried(draft, "basic_auth.users");
            }
            _ => draft.note(
                &d.place,
                &d.shown(),
                Fate::LeftOut,
                "basic_auth.users names one file, and all users in it may",
            ),
        }
        true
    }

    fn from(&mut self, who: &str, allows: bool, d: &Directive, draft: &mut Draft<'_>) {
        let shown = d.shown();
        if who.eq_ignore_ascii_case("all") {
            if allows {
                self.all_allowed = true
            } else {
                self.all_denied = true
            }
            draft.note(&d.place, &shown, Fate::Carried, if allows { "everybody" } else { "deny: everybody" });
            return;
        }
        match network(who) {
            Some(network) => {
                draft.note(
                    &d.place,
                    &shown,
                    Fate::Carried,
                    format!("{} {network}", if allows { "allow" } else { "deny" }),
                );
                if allows { self.allow.push(network) } else { self.deny.push(network) }
            }
            None if allows => {
                let text = "names of clients are not looked up: write their addresses into `allow`";
                draft.note(&d.place, &shown, Fate::LeftOut, text);
            }
            None => {
                self.closed = Some(format!("`{shown}` is no address"));
                let text = "names of clients are not looked up: write their addresses into `deny`";
                draft.note(&d.place, &shown, Fate::Unsafe, text);
            }
        }
    }

    fn require(&mut self, args: &[String], d: &Directive, draft: &mut Draft<'_>) {
        let words: Vec<String> = args.iter().map(|a| a.to_ascii_lowercase()).collect();
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let negated = word(0) == "not";
        let first = usize::from(negated);
        let shown = d.shown();
        match (word(first), word(first + 1)) {
            ("all", "granted") if !negated => {
                self.all_allowed = true;
                draft.note(&d.place, &shown, Fate::Carried, "everybody");
            }
            ("all", "denied") => {
                self.all_denied = true;
                draft.note(&d.place, &shown, Fate::Carried, "deny: everybody");
            }
            ("local", _) if !negated => {
                self.allow.extend(["127.0.0.0/8".to_owned(), "::1".to_owned()]);
                draft.note(&d.place, &shown, Fate::Carried, "allow: this machine");
            }
            ("ip", _) => {
                for who in args.iter().skip(first + 1) {
                    match network(who) {
                        Some(network) if negated => self.deny.push(network),
                        Some(network) => self.allow.push(network),
                        None => self.closed = Some(format!("{who} is no address")),
                    }
                }
                draft.note(&d.place, &shown, Fate::Carried, if negated { "deny" } else { "allow" });
            }
            ("valid-user", _) if !negated => {
                self.user = true;
                draft.note(&d.place, &shown, Fate::Carried, "basic_auth");
            }
            ("host" | "forward-dns", _) if !negated => {
                let text = "names of clients are not looked up: write their addresses into `allow`";
                draft.note(&d.place, &shown, Fate::LeftOut, text);
            }
            _ => {
                self.closed = Some(format!("`{shown}` has no counterpart"));
                draft.note(
                    &d.place,
                    &shown,
                    Fate::LeftOut,
                    "Samovar asks for addresses and for users of a file, and for nothing else",
                );
            }
        }
    }

    /// `<RequireAny>` and its kin: what can be said as one list is, all else closes.
    pub(crate) fn group(&mut self, name: &str, inner: &[Directive], d: &Directive, draft: &mut Draft<'_>) {
        self.place.get_or_insert_with(|| d.place.clone());
        self.required = true;
        let plain = inner.iter().all(|i| i.inner.is_none() && i.is("Require"));
        let granted = inner
            .iter()
            .any(|i| i.arg(0).eq_ignore_ascii_case("all") && i.arg(1).eq_ignore_ascii_case("granted"));
        let nots = inner
            .iter()
            .all(|i| i.arg(0).eq_ignore_ascii_case("not") || i.arg(1).eq_ignore_ascii_case("granted"));
        match name {
            "requireany" if plain => {
                self.satisfy_any = true;
                draft.note(&d.place, &d.shown(), Fate::Carried, "one of them is enough");
                for i in inner {
                    self.require(&i.args, i, draft);
                }
            }
            // "Everybody but these."
            "requireall" if plain && ((granted && nots) || inner.len() == 1) => {
                draft.note(&d.place, &d.shown(), Fate::Carried, "all of them hold");
                for i in inner {
                    self.require(&i.args, i, draft);
                }
            }
            _ => {
                self.closed = Some(format!("`{}` has no counterpart", d.shown()));
                draft.note(
                    &d.place,
                    &d.shown(),
                    Fate::LeftOut,
                    "Samovar has one list of who may and one of who may not, and cannot nest them",
                );
                super::sections::dropped(inner, draft);
            }
        }
    }

    /// What it comes down to.
    pub(crate) fn settle(self, late: bool, select: &Select, site: &mut Site, draft: &mut Draft<'_>) {
        let Some(place) = self.place.clone() else { return };
        let named = !self.allow.is_empty() || !self.deny.is_empty();
        let by_address = if self.required {
            // Only those that are named, unless all are granted; `not` takes some out again.
            !self.all_allowed && !self.user
        } else {
            // A denial of all is undone by an allowance of all, if allowances come last.
            self.ordered
                && ((self.all_denied && (self.allow_first || !self.all_allowed))
                    || (self.allow_first && !self.all_allowed))
        };
        let mut closed = self.closed.clone();
        // Both a list and users, and it matters which of them is enough.
        if self.user && named && self.satisfy_any {
            closed = Some(
                "an address or a password was enough; Samovar asks for both where both are written"
                    .to_owned(),
            );
        }
        if self.user && !(self.basic && self.users.is_some()) {
            closed = Some("users were asked for whose file is not known".to_owned());
        }
        let scope = site.scope(select, &place);
        if let Some(why) = closed {
            scope.close(&place, &why);
            draft.note(&place, "who may", Fate::Unsafe, format!("closed to everybody: {why}"));
            return;
        }
        if by_address || (self.required && self.all_denied) {
            if self.allow.is_empty() && !self.all_denied {
                draft.note(
                    &place,
                    "who may",
                    Fate::FillIn,
                    "closed to everybody: write into `allow` who may",
                );
            }
            let allow: &[String] = if self.required && self.all_denied { &[] } else { &self.allow };
            let entry = scope.deny_others(allow, &place);
            entry.remark = "all that allow does not name".to_owned();
            entry.late = late;
        } else if !self.deny.is_empty() {
            scope.set("deny", Value::texts(&self.deny), &place);
            if !self.allow.is_empty() && !self.allow_first {
                scope.set("allow", Value::texts(&self.allow), &place);
            }
        } else if self.all_allowed
            && scope.entries().iter().any(|entry| entry.key == "deny" && (late || !entry.late))
        {
            scope.set("deny", Value::List(Vec::new()), &place);
        }
        if self.user
            && let Some((users, at)) = &self.users
        {
            let windows = crate::windows::is_windows(users);
            let path = if windows { crate::windows::filled(users) } else { users.clone() };
            let realm = self.realm.clone().unwrap_or_else(|| "restricted".to_owned());
            let auth = Value::table([("realm", Value::Text(realm)), ("users", Value::Text(path))]);
            scope.set("basic_auth", auth, at);
        }
    }
}

/// An address, a network, or the beginning of one: `10.1` is `10.1.0.0/16`.
fn network(who: &str) -> Option<String> {
    if let Some(network) = spell::network(who) {
        return Some(network);
    }
    let parts: Vec<&str> = who.trim_end_matches('.').split('.').collect();
    if parts.is_empty() || parts.len() > 3 || !parts.iter().all(|p| p.parse::<u8>().is_ok()) {
        return None;
    }
    let bits = parts.len() * 8;
    let zeros = vec!["0"; 4 - parts.len()];
    spell::network(&format!("{}/{bits}", [parts, zeros].concat().join(".")))
}

#[cfg(test)]
mod tests {
    use super::network;

    #[test]
    fn the_beginning_of_an_address_is_a_network() {
        assert_eq!(network("10.1"), Some("10.1.0.0/16".to_owned()));
        assert_eq!(network("10.1.2.3"), Some("10.1.2.3".to_owned()));
        assert_eq!((network(".esri.com"), network("")), (None, None));
    }
}
