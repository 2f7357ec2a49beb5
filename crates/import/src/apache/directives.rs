//! One server of httpd: its directives, one by one, each noted; sections narrow what the directives in them hold for.

use super::access::Access;
use super::cache::Caches;
use super::proxy::Balancer;
use super::{fields, proxy};
use crate::draft::Draft;
use crate::note::{Fate, Place, Refused};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{PathSet, Select, Settings, Site, Value, regex};

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
    pub(crate) document_root: Option<String>,
    pub(crate) preserve_host: bool,
    pub(crate) expires: bool,
}

/// What is handed from the main server to a virtual host.
pub(crate) struct Inherited {
    site: Site,
    caches: Caches,
    document_root: Option<String>,
    preserve_host: bool,
    expires: bool,
}

impl<'d, 'o> Conf<'d, 'o> {
    pub(crate) fn new(draft: &'d mut Draft<'o>, balancers: &'d mut Vec<Balancer>) -> Self {
        let nothing = Inherited {
            site: Site::default(),
            caches: Caches::default(),
            document_root: None,
            preserve_host: false,
            expires: false,
        };
        Conf::resume(draft, balancers, nothing)
    }

    pub(crate) fn resume(
        draft: &'d mut Draft<'o>,
        balancers: &'d mut Vec<Balancer>,
        from: Inherited,
    ) -> Self {
        let Inherited { site, caches, document_root, preserve_host, expires } = from;
        let listen = Vec::new();
        Conf { draft, balancers, site, listen, tls: false, caches, document_root, preserve_host, expires }
    }

    pub(crate) fn pause(self) -> Inherited {
        let Conf { site, caches, document_root, preserve_host, expires, .. } = self;
        Inherited { site, caches, document_root, preserve_host, expires }
    }

    /// The site, when all was read.
    pub(crate) fn finish(mut self) -> Site {
        let caches = std::mem::take(&mut self.caches);
        caches.settle(&mut self.site, self.draft);
        self.site
    }

    /// All directives of a section, which hold for these requests.
    pub(crate) fn all(&mut self, list: &[Directive], select: &Select) -> Result<(), Refused> {
        let mut access = Access::default();
        for directive in list {
            self.draft.bounded(&directive.place)?;
            if directive.inner.is_some() {
                self.section(directive, select, &mut access)?;
            } else if !access.take(directive, self.draft) {
                self.one(directive, select);
            }
        }
        access.settle(select, &mut self.site, self.draft);
        Ok(())
    }

    pub(crate) fn note(&mut self, d: &Directive, fate: Fate, text: impl Into<String>) {
        self.draft.note(&d.place, &d.shown(), fate, text);
    }

    pub(crate) fn carried(&mut self, d: &Directive, text: impl Into<String>) {
        self.note(d, Fate::Carried, text);
    }

    pub(crate) fn left(&mut self, d: &Directive, text: impl Into<String>) {
        self.note(d, Fate::LeftOut, text);
    }

    pub(crate) fn scope(&mut self, select: &Select, place: &Place) -> &mut Settings {
        self.site.scope(select, place)
    }

    fn section(&mut self, d: &Directive, select: &Select, access: &mut Access) -> Result<(), Refused> {
        let inner = d.inner.as_deref().unwrap_or_default();
        let name = d.name.to_ascii_lowercase();
        // A page of httpd's own: what guards it goes with it.
        if let Some(handler) = inner.iter().find(|i| i.is("SetHandler") && is_page(i.arg(0))) {
            let why = own_page(handler.arg(0));
            self.left(d, why);
            return Ok(());
        }
        let narrowed = match name.as_str() {
            "location" => match d.arg(0) {
                "~" => regex(d.arg(1)),
                path if path.contains(['*', '?', '[']) => glob(path),
                path if path.starts_with('/') => Some(Select::path(PathSet::under(path))),
                _ => None,
            },
            "locationmatch" => regex(d.arg(0)),
            "files" if d.arg(0) == "~" => regex(d.arg(1)),
            "files" => by_name(d.arg(0)),
            "filesmatch" => regex(d.arg(0)),
            "directory" | "directorymatch" => return self.directory(d, inner),
            "proxy" | "proxymatch" => {
                if !d.arg(0).starts_with("balancer://") {
                    self.left(d, "what may pass is said where it passes");
                }
                return Ok(());
            }
            "requireall" | "requireany" | "requirenone" => {
                access.group(&name, inner, d, self.draft);
                return Ok(());
            }
            "limit" | "limitexcept" => {
                self.note(
                    d,
                    Fate::Unsafe,
                    "guards of single methods are not carried over; the application sees all methods",
                );
                return Ok(());
            }
            _ => {
                self.left(d, "Samovar has nothing of this kind");
                return Ok(());
            }
        };
        if name.starts_with("files") && hides_dot_files(d) {
            self.carried(d, "files whose names begin with a dot are never served");
            return Ok(());
        }
        let Some(narrowed) = narrowed.and_then(|inner| within(select, inner)) else {
            let guards = inner.iter().any(Access::is_guard);
            let fate = if guards { Fate::Unsafe } else { Fate::LeftOut };
            self.note(d, fate, "a rule cannot select this: it takes path globs and extensions");
            return Ok(());
        };
        self.carried(d, "a rule");
        self.all(inner, &narrowed)
    }

    /// A folder is a path, if it lies in the site's folder.
    fn directory(&mut self, d: &Directive, inner: &[Directive]) -> Result<(), Refused> {
        let path = d.arg(0).trim_end_matches('/').replace('\\', "/");
        let root = self.document_root.clone().map(|root| root.trim_end_matches('/').replace('\\', "/"));
        let below = root.as_deref().and_then(|root| path.strip_prefix(root));
        match below {
            Some("") => {
                self.carried(d, "the whole site");
                self.all(inner, &Select::default())
            }
            Some(rest) if rest.starts_with('/') && !rest.contains(['*', '?', '[']) => {
                self.carried(d, "a rule");
                self.all(inner, &Select::path(PathSet::under(rest)))
            }
            _ => {
                let text = "nothing outside of the site's folder is served; what is said of other folders says nothing here";
                self.left(d, text);
                Ok(())
            }
        }
    }

    fn one(&mut self, d: &Directive, select: &Select) {
        let name = d.name.to_ascii_lowercase();
        let whole = select.is_all();
        match name.as_str() {
            _ if self.cache(d, &name, select) => {}
            _ if proxy::directive(self, d, &name, select) => {}
            _ if fields::directive(self, d, &name, select) => {}
            "listen" => self.listener(d),
            "servername" | "serveralias" => self.names(d, &name),
            "documentroot" => {
                self.document_root = Some(d.arg(0).to_owned());
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
                    _ => self.left(d, "a page of the same site is wanted"),
                }
            }
            "redirect" | "redirectpermanent" | "redirecttemp" => self.redirect(d, &name),
            "alias" => {
                let (path, folder) = (d.arg(0).trim_end_matches('/'), d.arg(1).trim_end_matches('/'));
                let root = self.document_root.clone().unwrap_or_default();
                if format!("{}{path}", root.trim_end_matches('/')) == folder {
                    self.carried(d, "its folder is where its path leads already");
                } else {
                    self.left(d, format!("a site has one folder: move {folder} to {path} below it"));
                }
            }
            "sslengine" => {
                self.tls = d.arg(0).eq_ignore_ascii_case("on");
                self.carried(d, "an https:// listener");
            }
            "sslcertificatefile" => self.path(d, "certificate"),
            "sslcertificatekeyfile" => self.path(d, "certificate_key"),
            "sslcertificatechainfile" => {
                self.left(
                    d,
                    "append it to the file of the certificate: one file holds all that lead to its root",
                );
            }
            "keepalivetimeout" => match spell::seconds(d.arg(0)).filter(|ms| *ms > 0) {
                Some(ms) => self.limit(d, "idle_timeout", Value::duration(ms)),
                None => self.left(d, "this is no number of seconds"),
            },
            "maxkeepaliverequests" => match d.arg(0).parse::<u64>() {
                Ok(0) => self.limit(d, "requests_per_connection", Value::text("unlimited")),
                Ok(n) if n <= 1_000_000_000 => self.limit(d, "requests_per_connection", Value::Int(n)),
                _ => self.left(d, "this is no number"),
            },
            "limitrequestbody" if whole => match d.arg(0).parse::<u64>() {
                Ok(0) => self.limit(d, "body_max_bytes", Value::text("unlimited")),
                Ok(n) if n < 1 << 50 => self.limit(d, "body_max_bytes", Value::size(n)),
                _ => self.left(d, "this is no number"),
            },
            "limitrequestline" => match d.arg(0).parse::<u64>() {
                Ok(n) if (256..1 << 24).contains(&n) => self.limit(d, "line_max_bytes", Value::size(n)),
                _ => self.left(d, "Samovar takes lines of 256 bytes and more"),
            },
            "limitrequestfields" => match d.arg(0).parse::<u64>() {
                Ok(n) if (8..=256).contains(&n) => self.limit(d, "fields_max", Value::Int(n)),
                _ => self.left(d, "Samovar takes 8 to 256 fields"),
            },
            "customlog" | "transferlog" => {
                let path = d.arg(0);
                if path.starts_with('/') {
                    let entry = self.draft.wanted.log.set("access", Value::text(path), &d.place);
                    entry.off = true;
                    entry.remark =
                        "a file of its own is better; by default the log goes to standard error".to_owned();
                }
                self.left(d, "[log] access = \"FILE\", format = \"combined\" or \"json\"");
            }
            "loadmodule" | "addmodule" => {
                let built_in = super::cache::is_module(d.arg(0));
                match built_in {
                    true => self.carried(d, "what it does is built in"),
                    false => self.left(d, "Samovar has no modules"),
                }
            }
            "define" => self.carried(d, "put in where it is used"),
            _ => {
                let (fate, why) = why_not(&name);
                self.note(d, fate, why);
            }
        }
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
            self.site.head.set(key, Value::Text(filled), &d.place).remark = format!("FILL IN: was {path}");
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
            _ => self.left(d, "this is no address to listen on"),
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
            self.carried(d, if name == "servername" { "hosts; the first names the site" } else { "hosts" });
        } else {
            self.left(d, format!("{}: a host, or *. and a host", bad.join(", ")));
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
            (true, false) => {
                self.left(d, "a site draws lists everywhere or nowhere; `listing = true` would open more")
            }
            (false, true) => {
                self.site.head.remove("listing");
                self.carried(d, "no listing; links are followed inside of the folder, never out of it");
            }
            (false, false) => {
                self.left(d, "links are followed inside of the folder, never out of it; nothing else is run")
            }
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
            self.left(d, "write `redirect = { to = \"…\", status = … }` into a rule");
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

/// What both an outer and an inner section take.
pub(crate) fn within(outer: &Select, inner: Select) -> Option<Select> {
    if outer.covers(&inner) {
        return Some(inner);
    }
    outer.meet(&inner)
}

/// A path with wildcards; httpd's `*` stops at no slash in `<Location>`.
fn glob(path: &str) -> Option<Select> {
    if !path.starts_with('/') || path.contains(['[', ']', '{', '}', '\\', ',']) || path.len() > 500 {
        return None;
    }
    let doubled = path.replace("**", "*").replace('*', "**");
    // Only between slashes do two stars cross them.
    let whole = doubled.split('/').all(|part| part == "**" || !part.contains("**"));
    whole.then(|| Select::path(PathSet::Globs(vec![doubled])))
}

/// `*.php`, or a file's name.
fn by_name(name: &str) -> Option<Select> {
    if let Some(extension) = name.strip_prefix('*').and_then(spell::extension) {
        return Some(Select::extensions(vec![extension]));
    }
    let literal = spell::literal(&format!("/{name}")).filter(|_| !name.contains(['/', '*', '?', '[']))?;
    Some(Select::path(PathSet::Globs(vec![format!("/**{literal}")])))
}

/// `<Files ".ht*">`, `<FilesMatch "^\.ht">`.
fn hides_dot_files(d: &Directive) -> bool {
    let text = if d.arg(0) == "~" { d.arg(1) } else { d.arg(0) };
    text.starts_with(".ht") || text.starts_with("^\\.") || text.starts_with("^.ht")
}

fn is_page(handler: &str) -> bool {
    ["balancer-manager", "server-status", "server-info", "ldap-status", "perl-status"].contains(&handler)
}

fn own_page(handler: &str) -> &'static str {
    match handler {
        "balancer-manager" => {
            "members are seen and changed by `samovar upstream list|set|drain|enable`, at an address of its own ([server] admin)"
        }
        _ => {
            "`samovar status`, `samovar limits` and /metrics say it, at an address of its own ([server] admin)"
        }
    }
}

/// Directives with no counterpart, and why.
fn why_not(name: &str) -> (Fate, &'static str) {
    let left = |why| (Fate::LeftOut, why);
    match name {
        "rewriteengine" => left("rules of mod_rewrite are not read"),
        "rewriterule" | "rewritecond" | "rewritemap" | "rewritebase" | "rewriteoptions" | "redirectmatch"
        | "aliasmatch" => left("its expressions are not read: write `rewrite` or `redirect` into a rule"),
        "enablemmap" | "enablesendfile" | "win32disableacceptex" | "acceptfilter" => {
            left("a work-around for the system it ran on; Samovar needs none")
        }
        "startservers"
        | "minspareservers"
        | "maxspareservers"
        | "minsparethreads"
        | "maxsparethreads"
        | "threadsperchild"
        | "maxrequestworkers"
        | "maxclients"
        | "serverlimit"
        | "threadlimit"
        | "maxconnectionsperchild"
        | "maxrequestsperchild" => {
            left("one thread per core serves all; `[limits] connections_max` bounds clients")
        }
        "errorlog" | "loglevel" | "logformat" | "extendedstatus" => {
            left("each request's decisions are in `samovar trace` and `samovar explain`")
        }
        "serveradmin" | "servertokens" | "serversignature" | "usecanonicalname" | "hostnamelookups" => {
            left("Samovar names neither itself nor people on its pages")
        }
        "user" | "group" | "pidfile" | "lockfile" | "scoreboardfile" | "mutex" | "serverroot" => {
            left("whoever starts Samovar decides: systemd, a container")
        }
        "allowoverride" | "allowoverridelist" | "accessfilename" => {
            left("no .htaccess is read; all is said in one file")
        }
        "timeout" => left("each wait has its own limit: `[limits]`, `[[upstream]]`"),
        "keepalive" => left("connections are kept"),
        "namevirtualhost" => left("sites are told apart by name always"),
        "typesconfig"
        | "defaulttype"
        | "addhandler"
        | "addencoding"
        | "addcharset"
        | "adddefaultcharset"
        | "addicon"
        | "addiconbytype"
        | "addiconbyencoding"
        | "defaulticon"
        | "readmename"
        | "headername"
        | "indexignore"
        | "indexoptions"
        | "addlanguage"
        | "languagepriority"
        | "forcelanguagepriority"
        | "mimemagicfile" => left("types are built in (`types` adds some); lists are drawn in one way"),
        "scriptalias" | "scriptsock" | "action" => {
            left("Samovar runs no CGI programs; put the application behind FastCGI or HTTP")
        }
        "browsermatch" | "setenvif" | "setenv" | "unsetenv" | "passenv" => {
            left("Samovar has no environment of requests")
        }
        "sslprotocol"
        | "sslciphersuite"
        | "sslhonorcipherorder"
        | "sslsessioncache"
        | "sslsessiontickets"
        | "sslusestapling"
        | "sslstaplingcache" => left("TLS 1.2 and 1.3 with the ciphers that are held good: docs/tls.md"),
        "sslverifyclient" | "sslrequire" | "sslrequiressl" => {
            (Fate::Unsafe, "clients are not asked for certificates; what this guarded is open")
        }
        "traceenable" => left("TRACE goes to the application like any method"),
        "sethandler" => left("Samovar has no handler of this name"),
        _ => left("this importer does not know the directive"),
    }
}
