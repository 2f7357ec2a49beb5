//! One server of httpd: its directives, one by one, each noted; sections narrow what the directives in them hold for.

use super::access::Access;
use super::cache::Caches;
use super::expires::Expiry;
use super::proxy::Balancer;
use super::words::why_not;
use super::{fields, proxy};
use crate::draft::Draft;
use crate::note::{Consequence, Fate, Place, Refused};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{PathSet, Scope, Select, Settings, Site, Value};

/// `Listen`.
pub(crate) struct Listen {
    pub(crate) address: Option<String>,
    pub(crate) port: u16,
    pub(crate) https: bool,
    pub(crate) place: Place,
    pub(crate) shown: String,
}

/// A server being read.
pub(crate) struct Conf<'d, 'o> {
    pub(crate) draft: &'d mut Draft<'o>,
    pub(crate) balancers: &'d mut Vec<Balancer>,
    pub(crate) site: Site,
    pub(crate) listen: Vec<Listen>,
    pub(crate) tls: bool,
    pub(crate) caches: Caches,
    pub(crate) preserve_host: bool,
    pub(crate) expiry: Expiry,
    /// The folder of its pages, wherever it is said.
    pub(crate) root: Option<String>,
    /// Conditions of the next `RewriteRule`.
    pub(crate) conditions: Vec<Directive>,
    /// Inside of a section that comes behind those of folders.
    late: bool,
    /// Where the main server passes requests on, behind all that this one says.
    main_passes: Vec<Scope>,
}

/// What is handed from the main server to a virtual host.
pub(crate) struct Inherited {
    site: Site,
    caches: Caches,
    preserve_host: bool,
    expiry: Expiry,
    root: Option<String>,
}

impl<'d, 'o> Conf<'d, 'o> {
    pub(crate) fn new(draft: &'d mut Draft<'o>, balancers: &'d mut Vec<Balancer>) -> Self {
        let nothing = Inherited {
            site: Site::default(),
            caches: Caches::default(),
            preserve_host: false,
            expiry: Expiry::default(),
            root: None,
        };
        Conf::resume(draft, balancers, nothing)
    }

    pub(crate) fn resume(
        draft: &'d mut Draft<'o>,
        balancers: &'d mut Vec<Balancer>,
        from: Inherited,
    ) -> Self {
        let Inherited { mut site, caches, preserve_host, expiry, root } = from;
        let main_passes = std::mem::take(&mut site.passes);
        let (listen, conditions) = (Vec::new(), Vec::new());
        let tls = false;
        Conf {
            draft,
            balancers,
            site,
            listen,
            tls,
            caches,
            preserve_host,
            expiry,
            root,
            conditions,
            main_passes,
            late: false,
        }
    }

    pub(crate) fn pause(self) -> Inherited {
        let Conf { site, caches, preserve_host, expiry, root, .. } = self;
        Inherited { site, caches, preserve_host, expiry, root }
    }

    /// The site, when all was read.
    pub(crate) fn finish(mut self, noted: bool) -> Site {
        let caches = std::mem::take(&mut self.caches);
        let expiry = std::mem::take(&mut self.expiry);
        if let (true, false, Some(pass)) = (noted, caches.is_on(), self.site.passes.first())
            && let Some(place) = pass.place.clone()
        {
            let as_what = (Fate::LeftOut, Consequence::CachedDifferently);
            self.draft.note_once(&place, "no CacheEnable", as_what, crate::draft::STORES_MORE);
        }
        expiry.settle(&caches, &mut self.site, self.draft, noted);
        caches.settle(&mut self.site, self.draft, noted);
        self.site.passes.append(&mut self.main_passes);
        self.site
    }

    /// All directives of a section, which hold for these requests.
    pub(crate) fn all(&mut self, list: &[Directive], select: &Select) -> Result<(), Refused> {
        let mut access = Access::default();
        // Sections go together in this order, folders the outer ones first (httpd's manual, "How the sections are merged").
        let stage = |d: &Directive| match d.name.to_ascii_lowercase().as_str() {
            _ if d.inner.is_none() => (0, 0),
            "directory" if d.arg(0) != "~" => (1, d.arg(0).len()),
            "directory" | "directorymatch" => (2, 0),
            "location" | "locationmatch" | "if" | "elseif" | "else" => (4, 0),
            _ => (3, 0),
        };
        let mut list: Vec<&Directive> = list.iter().collect();
        list.sort_by_key(|d| stage(d));
        for directive in list {
            self.draft.bounded(&directive.place)?;
            if directive.inner.is_some() {
                let before = self.late;
                self.late |= stage(directive).0 >= 3;
                self.section(directive, select, &mut access)?;
                self.late = before;
            } else if !access.take(directive, self.draft) {
                self.one(directive, select);
            }
        }
        access.settle(self.late, select, &mut self.site, self.draft);
        Ok(())
    }

    pub(crate) fn note(&mut self, d: &Directive, fate: Fate, text: impl Into<String>) {
        self.draft.note(&d.place, &d.shown(), fate, text);
    }

    /// Notes what became of a directive, and what that means for the site.
    pub(crate) fn note_as(&mut self, d: &Directive, as_what: (Fate, Consequence), text: impl Into<String>) {
        self.draft.note_as(&d.place, &d.shown(), as_what, text);
    }

    /// Not carried over, and something is stored for another time, for other requests, or not at all.
    pub(crate) fn cached(&mut self, d: &Directive, text: impl Into<String>) {
        self.note_as(d, (Fate::LeftOut, Consequence::CachedDifferently), text);
    }

    /// Not carried over, and pages are missing or not the same.
    pub(crate) fn breaks(&mut self, d: &Directive, text: impl Into<String>) {
        self.note_as(d, (Fate::LeftOut, Consequence::BreaksSite), text);
    }

    pub(crate) fn carried(&mut self, d: &Directive, text: impl Into<String>) {
        self.note(d, Fate::Carried, text);
    }

    pub(crate) fn left(&mut self, d: &Directive, text: impl Into<String>) {
        self.note(d, Fate::LeftOut, text);
    }

    /// Closes these requests to everybody.
    pub(crate) fn close(&mut self, d: &Directive, select: &Select, why: &str) {
        self.site.scope(select, &d.place).close(&d.place, why);
        // Safe, and a part of the site is gone.
        let as_what = (Fate::Unsafe, Consequence::BreaksSite);
        self.note_as(d, as_what, format!("closed to everybody: {why}"));
    }

    pub(crate) fn scope(&mut self, select: &Select, place: &Place) -> &mut Settings {
        self.site.scope(select, place)
    }

    fn one(&mut self, d: &Directive, select: &Select) {
        let name = d.name.to_ascii_lowercase();
        let whole = select.is_all();
        match name.as_str() {
            _ if self.cache(d, &name, select) => {}
            "setenv" | "setenvif" | "setenvifnocase" | "browsermatch" | "browsermatchnocase" | "passenv" => {
                self.environment(d, &name, select);
            }
            "fileetag" => {
                self.cached(d, "files have an ETag of Samovar's making; clients and caches revalidate by it")
            }
            _ if proxy::directive(self, d, &name, select) => {}
            _ if fields::directive(self, d, &name, select) => {}
            "listen" => self.listener(d),
            "servername" | "serveralias" => self.names(d, &name),
            "documentroot" => {
                let mut head = std::mem::take(&mut self.site.head);
                self.draft.files(&mut head, d.arg(0), &d.place, &d.shown());
                self.site.head = head;
            }
            "directoryindex" if whole => {
                let names: Vec<String> = d.args.iter().filter_map(|n| spell::file_name(n)).collect();
                self.carried(d, format!("index = {}", names.join(", ")));
                if !names.is_empty() {
                    self.site.head.set("index", Value::texts(names), &d.place);
                }
            }
            "options" => self.options(d, whole),
            "addtype" => self.types(d),
            "errordocument" => {
                let status = d.arg(0).parse::<u16>().ok().filter(|n| (400..=599).contains(n));
                match status {
                    Some(status) if d.arg(1).starts_with('/') && d.args.len() == 2 => {
                        let mut pages = match self.scope(select, &d.place).get("error_pages") {
                            Some(Value::Table(pages)) => pages.clone(),
                            _ => Vec::new(),
                        };
                        pages.retain(|(known, _)| *known != status.to_string());
                        pages.push((status.to_string(), Value::text(d.arg(1))));
                        self.scope(select, &d.place).set("error_pages", Value::Table(pages), &d.place);
                        self.carried(d, format!("error_pages: {status}"));
                    }
                    _ => self.breaks(d, "a page of the same site is expected: visitors get Samovar's own error page"),
                }
            }
            "redirect" | "redirectpermanent" | "redirecttemp" => self.redirect(d, &name),
            "alias" => {
                let (path, folder) = (d.arg(0).trim_end_matches('/'), d.arg(1).trim_end_matches('/'));
                let root = self.root.clone().unwrap_or_default();
                if format!("{}{path}", root.trim_end_matches('/')) == folder {
                    self.carried(d, "its folder is the one that its path leads to anyway");
                } else {
                    let why = format!("a site has one folder: move {folder} to {path} below it, then take `deny` out");
                    self.close(d, &Select::path(PathSet::under(d.arg(0))), &why);
                }
            }
            _ if super::refused::directive(self, d, &name, select) => {}
            "sslengine" => {
                self.tls = d.arg(0).eq_ignore_ascii_case("on");
                self.carried(d, "an https:// listener");
            }
            "sslcertificatefile" => self.path(d, "certificate"),
            "sslcertificatekeyfile" => self.path(d, "certificate_key"),
            "sslcertificatechainfile" => {
                self.breaks(
                    d,
                    "append its certificates to the file that `certificate` names: one file holds the whole chain",
                );
            }
            "keepalivetimeout" => match spell::seconds(d.arg(0)).filter(|ms| *ms > 0) {
                Some(ms) => self.limit(d, "idle_timeout", Value::duration(ms)),
                None => self.left(d, "this is no number of seconds; Samovar's default holds"),
            },
            "maxkeepaliverequests" => match d.arg(0).parse::<u64>() {
                Ok(0) => self.limit(d, "requests_per_connection", Value::text("unlimited")),
                Ok(n) if n <= 1_000_000_000 => self.limit(d, "requests_per_connection", Value::Int(n)),
                _ => self.left(d, "this is no number; Samovar's default holds"),
            },
            "limitrequestbody" if whole => match d.arg(0).parse::<u64>() {
                Ok(0) => self.limit(d, "body_max_bytes", Value::text("unlimited")),
                Ok(n) if n < 1 << 50 => self.limit(d, "body_max_bytes", Value::size(n)),
                _ => self.left(d, "this is no number; Samovar's default holds"),
            },
            "limitrequestline" => match d.arg(0).parse::<u64>() {
                Ok(n) if (256..1 << 24).contains(&n) => self.limit(d, "line_max_bytes", Value::size(n)),
                _ => self.left(d, "`line_max_bytes` takes 256 bytes and more; the default holds"),
            },
            "limitrequestfields" => match d.arg(0).parse::<u64>() {
                Ok(n) if (8..=256).contains(&n) => self.limit(d, "fields_max", Value::Int(n)),
                _ => self.left(d, "`fields_max` takes 8 to 256; the default holds"),
            },
            "customlog" | "transferlog" => {
                let path = d.arg(0);
                if path.starts_with('/') {
                    let entry = self.draft.wanted.log.set("access", Value::text(path), &d.place);
                    entry.off = true;
                    entry.remark =
                        "a file of its own is better; by default the log goes to standard error".to_owned();
                }
                self.left(d, "Samovar writes one log for all sites: [log] access = \"FILE\" or \"off\", format = \"combined\" or \"json\"");
            }
            "loadmodule" | "addmodule" => {
                let built_in = super::cache::is_module(d.arg(0));
                match built_in {
                    true => self.carried(d, "Samovar does this without a module"),
                    false => self.left(d, "Samovar has no modules"),
                }
            }
            "define" => self.carried(d, "its value stands where it is used"),
            "include" | "includeoptional" => {
                self.breaks(d, "no file here has such a name: that is fine if httpd found none either, else import where all files are, or name their folder with --root")
            }
            _ => {
                let (fate, why) = why_not(&name);
                self.note(d, fate, why);
            }
        }
    }

    /// Variables of a request. The one called `no-cache` kept requests away from mod_cache.
    fn environment(&mut self, d: &Directive, name: &str, select: &Select) {
        let is_no_cache = |word: &String| {
            word.split('=').next().is_some_and(|variable| variable.eq_ignore_ascii_case("no-cache"))
        };
        if name == "setenv" && d.args.first().is_some_and(is_no_cache) {
            self.scope(select, &d.place).set("never", Value::Bool(true), &d.place);
            return self.carried(d, "never = true");
        }
        if d.args.iter().skip(1).any(is_no_cache) {
            self.scope(select, &d.place).set("never", Value::Bool(true), &d.place);
            let text = "some requests passed by the cache, and a rule cannot tell which: nothing is stored here (never = \
                        true). Where responses differ by one cookie or field only, `vary_cookies` or `vary_headers` in its \
                        place keeps them apart";
            return self.note_as(d, (Fate::Unsafe, Consequence::CachedDifferently), text);
        }
        self.left(d, "Samovar has no variables of requests; what used this one is listed where it stands");
    }

    fn limit(&mut self, d: &Directive, key: &'static str, value: Value) {
        self.carried(d, format!("[limits] {key} = {}, for all", value.toml()));
        self.draft.wanted.limits.set(key, value, &d.place);
    }

    fn path(&mut self, d: &Directive, key: &'static str) {
        let path = d.arg(0);
        if crate::windows::is_windows(path) {
            let filled = crate::windows::filled(path);
            self.note(d, Fate::FillIn, format!("{key} = {filled}"));
            self.site.head.set(key, Value::Text(filled), &d.place).remark = format!("FILL-IN: was {path}");
        } else {
            self.carried(d, key);
            self.site.head.set(key, Value::text(path), &d.place);
        }
    }

    fn listener(&mut self, d: &Directive) {
        let text = d.arg(0);
        let (address, port) = match text.rsplit_once(':') {
            Some((address, port)) => (Some(address.to_owned()).filter(|a| a != "*"), port),
            None => (None, text),
        };
        let bare = address.as_deref().map(|a| a.trim_matches(['[', ']']));
        let is_address = bare.is_none_or(|a| a.parse::<std::net::IpAddr>().is_ok());
        match port.parse::<u16>() {
            Ok(port) if port > 0 && is_address => {
                let https = d.arg(1).eq_ignore_ascii_case("https");
                let (place, shown) = (d.place.clone(), d.shown());
                self.listen.push(Listen { address, port, https, place, shown });
            }
            _ => self.breaks(d, "an address or a port is expected: nothing listens here"),
        }
    }

    fn names(&mut self, d: &Directive, name: &str) {
        let mut bad = Vec::new();
        for text in &d.args {
            let bare = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
            let bare = match bare.rsplit_once(':') {
                Some((host, port)) if port.parse::<u16>().is_ok() => host,
                _ => bare,
            };
            match spell::host(bare) {
                Some(host) if !self.site.hosts.contains(&host) => self.site.hosts.push(host),
                Some(_) => {}
                None => bad.push(text.as_str()),
            }
        }
        if bad.is_empty() {
            self.carried(
                d,
                if name == "servername" { "hosts; the first of them is the site's name" } else { "hosts" },
            );
        } else {
            self.breaks(
                d,
                format!(
                    "{}: a host, or *. and a host, is expected; requests for it go to the default site",
                    bad.join(", ")
                ),
            );
        }
    }

    fn options(&mut self, d: &Directive, whole: bool) {
        let lists = |sign: &str| d.args.iter().any(|a| a.eq_ignore_ascii_case(sign));
        let on = lists("Indexes") || lists("+Indexes") || lists("All");
        match (on, whole) {
            (true, true) => {
                self.site.head.set("listing", Value::Bool(true), &d.place);
                self.carried(d, "listing = true");
            }
            (true, false) => self.breaks(
                d,
                "a site lists its folders everywhere or nowhere: `listing = true` would list more",
            ),
            (false, true) => {
                self.site.head.remove("listing");
                self.carried(d, "no listing; Samovar follows links inside of the folder, never out of it");
            }
            (false, false) => self.left(
                d,
                "Samovar follows links inside of the folder, never out of it, and runs nothing else",
            ),
        }
    }

    fn types(&mut self, d: &Directive) {
        let Some(media) = spell::media_type(d.arg(0)) else {
            self.left(d, "this is no media type");
            return;
        };
        let mut types = match self.site.head.get("types") {
            Some(Value::Table(pairs)) => pairs.clone(),
            _ => Vec::new(),
        };
        for extension in d.args.iter().skip(1).filter_map(|e| spell::extension(e)) {
            types.retain(|(known, _)| *known != extension);
            types.push((extension, Value::text(&media)));
        }
        self.carried(d, "types");
        if !types.is_empty() {
            self.site.head.set("types", Value::Table(types), &d.place);
        }
    }

    fn redirect(&mut self, d: &Directive, name: &str) {
        let (status, rest) = match d.arg(0) {
            "permanent" => (301, 1),
            "temp" => (302, 1),
            "seeother" => (303, 1),
            "gone" => (410, 1),
            text => match text.parse::<u64>() {
                Ok(status) => (status, 1),
                Err(_) => (if name == "redirectpermanent" { 301 } else { 302 }, 0),
            },
        };
        let (from, to) = (d.arg(rest), d.arg(rest + 1));
        let ok = (300..=308).contains(&status)
            && from.starts_with('/')
            && !to.is_empty()
            && !to.contains(['{', '}', '%', '$']);
        let (Some(_), Some(to), true) = (spell::literal(from), spell::field_value(to), ok) else {
            let why = "its target cannot be written: write `redirect = { to = \"…\", status = … }` into a rule, and take `deny` out";
            match from.starts_with('/') {
                true => self.close(d, &Select::path(PathSet::under(from)), why),
                false => self.breaks(d, why),
            }
            return;
        };
        let table = |to: String| Value::table([("to", Value::Text(to)), ("status", Value::Int(status))]);
        let below = Select::path(PathSet::Under(format!("{}/", from.trim_end_matches('/'))));
        let slash = if from.ends_with('/') == to.ends_with('/') { "/" } else { "" };
        let rest = format!("{}{slash}{{1}}", to.trim_end_matches('/'));
        self.scope(&below, &d.place).set("redirect", table(rest), &d.place);
        if !from.ends_with('/') {
            let exact = Select::path(PathSet::Exact(from.to_owned()));
            self.scope(&exact, &d.place).set("redirect", table(to.clone()), &d.place);
        }
        self.carried(d, format!("redirect, {status}"));
    }
}
