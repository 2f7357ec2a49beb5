//! `[[site.rule]]` and the policy keys of a site: what is selected, and what is wished for it.
//!
//! A rule takes every policy key it does not write from its site, and the site from what is declared. What holds
//! without any lifetime policy depends on the target: `until_changed` for files, `respect` for all else.

use super::server::hot_from;
use super::site::Takes;
use super::{Work, absolute, acts};
use crate::config::diag::{Code, Diagnostic};
use crate::config::format::normal_extension;
use crate::config::keys::LIFETIMES;
use crate::config::settings::Watched;
use crate::config::tree::{Checked, Node, Span, Value};
use http::{HeaderName, HeaderValue, Method};
use samovar_policy::{LifetimeWish, OddAge, Overrides, Reload, Wishes};
use samovar_rules::{HotWish, Normalise, PathGlob, QueryKey, Rule, VaryHeader};
use std::path::PathBuf;
use std::sync::Arc;

/// A rule's table with its site's.
pub(super) struct Scope<'a> {
    /// The rule's table; the site's own for what holds without a rule.
    pub(super) own: &'a Checked,
    /// The site's table, for what the rule does not write.
    pub(super) site: Option<&'a Checked>,
    /// The rule's id.
    pub(super) id: &'a str,
    /// The site's name.
    pub(super) site_name: &'a str,
}

impl Scope<'_> {
    /// What the rule or its site wrote.
    pub(super) fn node(&self, name: &str) -> Option<&Node> {
        self.own.get(name).or_else(|| self.site.and_then(|s| s.get(name)))
    }

    /// The same, or what is declared.
    fn value(&self, name: &str) -> Option<Value> {
        match self.node(name) {
            Some(node) if node.value != Value::Invalid => Some(node.value.clone()),
            _ => self.own.declared(name),
        }
    }

    fn amount(&self, name: &str) -> Option<u64> {
        self.value(name).as_ref().and_then(Value::amount)
    }

    fn word(&self, name: &str) -> Option<String> {
        self.value(name).as_ref().and_then(Value::text).map(str::to_owned)
    }

    fn bool(&self, name: &str) -> bool {
        self.value(name).as_ref().and_then(Value::bool).unwrap_or(false)
    }

    fn texts(&self, name: &str) -> Vec<String> {
        self.value(name).map_or(Vec::new(), |v| v.texts().into_iter().map(str::to_owned).collect())
    }

    fn parts(&self, name: &str) -> &[Node] {
        self.node(name).map_or(&[], Node::list)
    }
}

/// A rule with what it selects.
pub(super) fn rule(scope: &Scope<'_>, takes: Takes, work: &mut Work<'_>) -> Rule {
    let mut rule = policy(scope, takes, work);
    let own = scope.own;
    let glob = own.get("path").and_then(Node::text);
    rule.path = glob.and_then(|t| PathGlob::with_case(t, rule.ignore_case).ok());
    rule.acts = acts::acts(scope, rule.path.as_ref(), work);
    rule.extensions = own
        .get("extension")
        .map_or(Vec::new(), |n| n.value.texts().into_iter().map(normal_extension).collect());
    let methods = own.get("method").map_or(Vec::new(), |n| n.value.texts());
    rule.methods = methods.into_iter().filter_map(|t| Method::from_bytes(t.as_bytes()).ok()).collect();
    rule.wishes.overrides = overrides(own);
    // The variant for files was made before these were known.
    if let Some(variant) =
        work.for_files.get_mut(scope.site_name).and_then(|v| v.iter_mut().find(|r| *r.id == *scope.id))
    {
        let (lifetime, factor) = (variant.wishes.lifetime, variant.wishes.heuristic_factor);
        let mut changed = rule.clone();
        changed.wishes.lifetime = lifetime;
        changed.wishes.heuristic_factor = factor;
        *variant = Arc::new(changed);
    }
    rule
}

/// A rule that selects nothing yet, with all wishes.
pub(super) fn policy(scope: &Scope<'_>, takes: Takes, work: &mut Work<'_>) -> Rule {
    let stated = lifetime(scope, takes, work);
    let off = scope.site.unwrap_or(scope.own).bool("cache") == Some(false);
    let careful =
        if takes.files && !takes.handlers { LifetimeWish::UntilChanged } else { LifetimeWish::Respect };
    let lifetime = if off { LifetimeWish::Never } else { stated.unwrap_or(careful) };
    let rule = Rule {
        id: scope.id.into(),
        // Where there are handlers, what no file gives comes over FastCGI.
        wishes: wishes(scope, lifetime, if takes.handlers { 0.0 } else { HEURISTIC_FACTOR }),
        vary_headers: scope.parts("vary_headers").iter().filter_map(|n| vary_header(n, work)).collect(),
        compare_headers: scope.parts("compare_headers").iter().filter_map(|n| vary_header(n, work)).collect(),
        vary_cookies: scope.texts("vary_cookies"),
        vary_query: query(scope, work),
        ignore_cookies: scope.texts("ignore_cookies"),
        ignore_case: scope.bool("ignore_case"),
        hot: hot(scope, work.hot),
        admit_after: u32::try_from(scope.amount("admit_after").unwrap_or(1)).unwrap_or(u32::MAX),
        admit_period_ms: scope.amount("admit_period").unwrap_or(0),
        coding: super::coding::wish(scope, takes, work),
        body_max_bytes: scope.amount("body_max_bytes"),
        upgrade_off: !scope.bool("upgrade"),
        ..Rule::default()
    };
    if lifetime == LifetimeWish::UntilChanged {
        watch(scope, work);
    }
    let differs = matches!(stated, None | Some(LifetimeWish::Respect));
    if differs && !off && takes.files && takes.handlers {
        let mut for_files = rule.clone();
        for_files.wishes = wishes(scope, stated.unwrap_or(LifetimeWish::UntilChanged), HEURISTIC_FACTOR);
        work.for_files.entry(scope.site_name.to_owned()).or_default().push(Arc::new(for_files));
    }
    rule
}

/// The lifetime policy that a table writes, with its place. `false` writes none.
fn written(table: &Checked) -> Vec<(&'static str, Span)> {
    let on = |name: &&'static str| match table.get(name).map(|n| &n.value) {
        None | Some(Value::Bool(false)) => false,
        Some(_) => true,
    };
    LIFETIMES.iter().filter(|n| on(n)).filter_map(|n| Some((*n, table.key_span(n)?))).collect()
}

/// The lifetime policy of the rule, else of its site; contradictions are noted where they are written.
fn lifetime(scope: &Scope<'_>, takes: Takes, work: &mut Work<'_>) -> Option<LifetimeWish> {
    let own = written(scope.own);
    if let [(first, first_span), (second, second_span), ..] = own.as_slice() {
        let (a, b) = if first_span.start < second_span.start {
            (first_span, second_span)
        } else {
            (second_span, first_span)
        };
        let message = format!("`{first}` and `{second}` cannot hold at once");
        let d = Diagnostic::error(Code::Contradiction, b.clone(), message).also(a.clone(), "the first");
        work.notes.push(d.hint(
            "a rule has one lifetime policy: `respect`, `when_silent`, `for`, `until_changed` or `never`",
        ));
    }
    let (name, table) = match (own.first(), scope.site) {
        (Some((name, _)), _) => (*name, scope.own),
        (None, Some(site)) => (written(site).first()?.0, site),
        (None, None) => return None,
    };
    let amount = || table.get(name).and_then(|n| n.value.amount()).unwrap_or(0);
    match name {
        "respect" => Some(LifetimeWish::Respect),
        "when_silent" => Some(LifetimeWish::WhenSilent(amount())),
        "for" => Some(LifetimeWish::For(amount())),
        "never" => Some(LifetimeWish::Never),
        _ => {
            watchable(scope, takes, work);
            Some(LifetimeWish::UntilChanged)
        }
    }
}

/// What comes over HTTP has no file to watch: globs must name some.
fn watchable(scope: &Scope<'_>, takes: Takes, work: &mut Work<'_>) {
    let Some(node) = scope.own.get("until_changed") else { return };
    if takes.http && scope.parts("globs").is_empty() {
        let hint =
            "list the files whose change ends what is stored: `globs = [\"/srv/data/**\"]`, or use `for`";
        work.error(Code::Unmet, &node.span, "an HTTP upstream has no files to watch", hint);
    }
}

/// The part of the time since Last-Modified that RFC 9111 §4.2.2 names as typical.
const HEURISTIC_FACTOR: f64 = 0.1;

/// All wishes; `factor` is the heuristic one where none is written.
fn wishes(scope: &Scope<'_>, lifetime: LifetimeWish, factor: f64) -> Wishes {
    let factor = match scope.value("heuristic_factor") {
        Some(Value::Number(n)) => n,
        _ => factor,
    };
    let status = scope.parts("only_status").iter().filter_map(|n| n.value.amount());
    let fields = scope.texts("drop_fields");
    Wishes {
        lifetime,
        lifetime_max_ms: scope.amount("max_lifetime"),
        heuristic_factor: factor,
        heuristic_max_ms: scope.amount("heuristic_max").unwrap_or(0),
        heuristic_first: scope.bool("heuristic_first"),
        min_bytes: scope.amount("min_bytes").unwrap_or(0),
        max_bytes: scope.amount("max_bytes").unwrap_or(u64::MAX),
        overrides: Overrides::default(),
        set_cookie_strip: scope.word("set_cookie").as_deref() == Some("strip"),
        only_type: scope.texts("only_type").iter().map(|t| t.to_ascii_lowercase()).collect(),
        only_status: status.filter_map(|n| u16::try_from(n).ok()).collect(),
        drop_fields: fields.iter().filter_map(|t| HeaderName::from_bytes(t.as_bytes()).ok()).collect(),
        client_cache_control: scope.word("client_cache_control").and_then(|t| HeaderValue::from_str(&t).ok()),
        reload: match scope.word("reload").as_deref() {
            Some("revalidate") => Reload::Revalidate,
            Some("bypass") => Reload::Bypass,
            _ => Reload::Ignore,
        },
        stale_while_revalidate_ms: scope.amount("stale_while_revalidate"),
        stale_if_error_ms: scope.amount("stale_if_error"),
        stale_if_unreachable_ms: scope.amount("stale_if_unreachable").unwrap_or(0),
        keep_ms: scope.amount("keep"),
        odd_age: match scope.word("odd_age").as_deref() {
            Some("stale") => OddAge::Stale,
            _ => OddAge::First,
        },
        request_directives: scope.bool("request_directives"),
    }
}

fn overrides(own: &Checked) -> Overrides {
    let words = own.get("override").map_or(Vec::new(), |n| n.value.texts());
    let has = |word: &str| words.contains(&word);
    Overrides {
        no_store: has("no-store"),
        private: has("private"),
        no_cache: has("no-cache"),
        vary_star: has("vary-star"),
        authorization: has("authorization"),
        set_cookie: has("set-cookie"),
        cookie: has("cookie"),
    }
}

fn vary_header(node: &Node, work: &mut Work<'_>) -> Option<VaryHeader> {
    let field = |text: &str| HeaderName::from_bytes(text.as_bytes()).ok();
    let Some(table) = node.table() else {
        return Some(VaryHeader { name: field(node.text()?)?, normalise: Normalise::Exact });
    };
    let name = field(table.get("name")?.text()?)?;
    let used: Vec<&Node> = ["languages", "encodings", "lower"]
        .into_iter()
        .filter_map(|k| table.get(k))
        .filter(|n| n.value != Value::Bool(false))
        .collect();
    if let [first, second, ..] = used.as_slice() {
        let d = Diagnostic::error(
            Code::Contradiction,
            second.span.clone(),
            "a field is made comparable in one way",
        );
        work.notes.push(
            d.also(first.span.clone(), "the first").hint("keep one of `languages`, `encodings` and `lower`"),
        );
    }
    let texts = |key: &str| {
        table.get(key).map_or(Vec::new(), |n| n.value.texts().into_iter().map(str::to_owned).collect())
    };
    let (languages, encodings): (Vec<String>, Vec<String>) = (texts("languages"), texts("encodings"));
    let normalise = if !languages.is_empty() {
        Normalise::Languages(languages)
    } else if !encodings.is_empty() {
        Normalise::Encodings(encodings)
    } else if table.bool("lower") == Some(true) {
        Normalise::Lower
    } else {
        Normalise::Exact
    };
    Some(VaryHeader { name, normalise })
}

fn query(scope: &Scope<'_>, work: &mut Work<'_>) -> QueryKey {
    match scope.node("vary_query").map(|n| (&n.value, &n.span)) {
        Some((Value::Word("sorted"), _)) => QueryKey::Sorted,
        Some((Value::Word("ignore"), _)) => QueryKey::Ignore,
        Some((Value::Table(table), span)) => {
            let texts =
                |key: &str| table.get(key).map(|n| n.value.texts().into_iter().map(str::to_owned).collect());
            match (texts("keep"), texts("drop")) {
                (Some(keep), None) => QueryKey::Keep(keep),
                (None, Some(drop)) => QueryKey::Drop(drop),
                (Some(_), Some(_)) => {
                    let hint = "`keep` lists all that count, `drop` all that do not";
                    work.error(Code::Contradiction, span, "`keep` and `drop` cannot hold at once", hint);
                    QueryKey::AsIs
                }
                (None, None) => {
                    let hint = "`vary_query = { keep = [\"id\"] }`, `{ drop = [\"utm_*\"] }`, or \"ignore\"";
                    work.error(Code::MissingKey, span, "`vary_query` says nothing", hint);
                    QueryKey::AsIs
                }
            }
        }
        _ => QueryKey::AsIs,
    }
}

/// `[hot]`, changed by the site, changed by the rule.
fn hot(scope: &Scope<'_>, base: HotWish) -> HotWish {
    let step = |base: HotWish, table: &Checked| match table.get("hot").map(|n| &n.value) {
        Some(Value::Bool(enabled)) => HotWish { enabled: *enabled, ..base },
        Some(Value::Table(own)) => hot_from(own, base),
        _ => base,
    };
    let base = scope.site.map_or(base, |site| step(base, site));
    step(base, scope.own)
}

/// Notes down which files the rule's globs mean.
fn watch(scope: &Scope<'_>, work: &mut Work<'_>) {
    let globs: Vec<String> =
        scope.parts("globs").iter().filter_map(|n| n.text().map(str::to_owned)).collect();
    for text in globs {
        let (root, pattern) = rooted(&absolute(&work.around.base, &text));
        let built = globset::GlobBuilder::new(&pattern).literal_separator(true).build();
        let Ok(glob) = built else { continue };
        let (site, rule) = (scope.site_name.to_owned(), scope.id.to_owned());
        work.watches.push(Watched { site, rule, root, glob: glob.compile_matcher() });
    }
}

/// The folder before the first wildcard, and the whole pattern.
fn rooted(pattern: &std::path::Path) -> (PathBuf, String) {
    let wild =
        |part: &std::path::Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    let plain: PathBuf = pattern.components().take_while(|c| !wild(c)).collect();
    // Without any wildcard the last part is the file itself.
    let root =
        if plain.as_path() == pattern { plain.parent().map_or(plain.clone(), PathBuf::from) } else { plain };
    (root, pattern.to_string_lossy().into_owned())
}
