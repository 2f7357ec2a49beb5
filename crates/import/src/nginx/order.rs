//! Which location takes a request: nginx's search, written out as rules of which the first that matches holds.
//!
//! An exact path ends the search. Else the longest prefix is found, and those inside it are looked at; then expressions are
//! tried in the order of the file, those inside before those outside, unless the prefix forbids it (`^~`); what no
//! expression takes belongs to the prefix. A location inside another one takes nothing beyond it.

use crate::note::Place;
use crate::wanted::{PathSet, Scope, Select, Settings, Wide};

/// How a location is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Exact,
    Prefix { path: String, noregex: bool },
    Regex,
}

/// A location.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Its rules, none if it cannot be said.
    pub(super) scopes: Vec<Scope>,
    /// What it takes at most, if it is an expression.
    pub(super) wide: Option<Wide>,
    pub(super) nested: Vec<Node>,
}

/// More than any site may have: it is refused.
const SCOPES_MAX: usize = 1_000;

/// All scopes, that of the whole site first; `scripts`: extensions that are run, and by which directive.
pub(super) fn in_order(nodes: Vec<Node>, whole: Scope, scripts: &[(Vec<String>, Place)]) -> Vec<Scope> {
    let mut out = Vec::new();
    emit(&nodes, &Domain { select: Select::default(), certain: true }, &[], &[], &mut out);
    // What no other location takes is that of `/`.
    let rest = out.iter().position(|scope| scope.select.is_all());
    let whole = match rest {
        Some(at) => {
            // Behind it nothing is asked for.
            out.truncate(at + 1);
            out.pop().unwrap_or(whole)
        }
        None => whole,
    };
    let scripts: Vec<&String> = scripts.iter().flat_map(|(extensions, _)| extensions).collect();
    let mut all = vec![whole];
    for scope in out {
        if let Some(closer) = no_scripts(&scope, &scripts)
            && all.iter().skip(1).all(|known| !known.select.covers(&closer.select))
        {
            all.push(closer);
        }
        // What one takes that stands before it is never asked for.
        if !all.iter().skip(1).any(|known| known.select == scope.select) {
            all.push(scope);
        }
    }
    all
}

/// A handler is the whole site's; where nginx ran no scripts they would be run, or written there by visitors.
fn no_scripts(scope: &Scope, scripts: &[&String]) -> Option<Scope> {
    let keys = ["upstream", "redirect"];
    let runs = scope.select.extensions.iter().any(|e| scripts.contains(&e));
    if scripts.is_empty()
        || runs
        || scope.settings.is_closed()
        || keys.iter().any(|key| scope.settings.get(key).is_some())
    {
        return None;
    }
    let handled = Select::extensions(scripts.iter().map(|e| (*e).clone()).collect());
    let select = scope.select.both(&handled)?;
    let reached = match &select.path {
        PathSet::Exact(path) => scripts.iter().any(|e| path.to_ascii_lowercase().ends_with(e.as_str())),
        _ => true,
    };
    let place = scope.place.clone()?;
    let mut settings = Settings::default();
    settings.close(&place, "scripts did not run here, and a handler would run them in the whole site");
    reached.then_some(Scope { select, settings, place: Some(place) })
}

/// Where locations take requests: what they stand in.
struct Domain {
    select: Select,
    /// Whether nothing else is in it. If not, only guards may take all of it.
    certain: bool,
}

impl Domain {
    /// What both take; if that cannot be said, at least that.
    fn narrowed(&self, inside: Select) -> Option<Domain> {
        if let Some(select) = self.select.both(&inside) {
            return Some(Domain { select, certain: self.certain });
        }
        let globs = |select: &Select| matches!(select.path, PathSet::Globs(_));
        match (globs(&self.select), globs(&inside)) {
            (true, _) => Some(Domain { select: inside, certain: false }),
            (_, true) => Some(Domain { select: self.select.clone(), certain: false }),
            _ => None,
        }
    }
}

fn emit(nodes: &[Node], domain: &Domain, outer: &[&Node], own: &[Scope], out: &mut Vec<Scope>) {
    if out.len() > SCOPES_MAX {
        return;
    }
    for node in nodes.iter().filter(|node| node.kind == Kind::Exact) {
        put(node, domain, out);
    }
    let regexes: Vec<&Node> = nodes.iter().filter(|node| node.kind == Kind::Regex).collect();
    let mut prefixes: Vec<(&str, bool, &Node)> = nodes
        .iter()
        .filter_map(|node| match &node.kind {
            Kind::Prefix { path, noregex } => Some((path.as_str(), *noregex, node)),
            _ => None,
        })
        .collect();
    prefixes.sort_by_key(|(path, _, _)| std::cmp::Reverse(path.len()));
    // These are searched by themselves, and so is what lies in them.
    let special = |noregex: bool, node: &Node| noregex || !node.nested.is_empty();
    let apart = |path: &str| {
        prefixes.iter().any(|(other, noregex, node)| special(*noregex, node) && path.starts_with(other))
    };
    let (first, last): (Vec<_>, Vec<_>) = prefixes.iter().partition(|(path, _, _)| apart(path));
    for (path, noregex, node) in first {
        let Some(inside) = domain.narrowed(Select::path(PathSet::begins(path))) else { continue };
        let tried: Vec<&Node> = match noregex {
            true => outer.to_vec(),
            false => regexes.iter().chain(outer).copied().collect(),
        };
        emit(&node.nested, &inside, &tried, &node.scopes, out);
    }
    for node in regexes.iter().chain(outer) {
        if node.nested.is_empty() {
            put(node, domain, out);
            continue;
        }
        let paths = node.scopes.first().map(|scope| scope.select.clone());
        let at_most = || Select::path(node.wide.as_ref().map_or(PathSet::All, Wide::paths));
        if let Some(mut inside) = domain.narrowed(paths.unwrap_or_else(at_most)) {
            inside.certain &= !node.scopes.is_empty();
            let (own, leftover) = node.scopes.split_at(node.scopes.len().min(1));
            emit(&node.nested, &inside, &[], own, out);
            for scope in leftover {
                narrowed(scope, node.wide.as_ref(), domain, out);
            }
        }
    }
    for (_, _, node) in last {
        put(node, domain, out);
    }
    for scope in own {
        narrowed(scope, None, domain, out);
    }
}

fn put(node: &Node, domain: &Domain, out: &mut Vec<Scope>) {
    for scope in &node.scopes {
        let positioned = node.kind == Kind::Regex && scope.select.is_all();
        match positioned {
            // It stands before all prefixes, not behind them.
            true => {
                let select = Select::path(PathSet::Under("/".to_owned()));
                narrowed(&Scope { select, ..scope.clone() }, node.wide.as_ref(), domain, out);
            }
            false => narrowed(scope, node.wide.as_ref(), domain, out),
        }
    }
}

/// A scope within a domain.
fn narrowed(scope: &Scope, wide: Option<&Wide>, domain: &Domain, out: &mut Vec<Scope>) {
    if out.len() > SCOPES_MAX || !(domain.certain || scope.settings.guards()) {
        return;
    }
    // Where it may take too much it closes: whom it lets in, another may keep out.
    let wider = |select: Select| {
        let mut scope = Scope { select, ..scope.clone() };
        if let (false, Some(place)) = (scope.settings.is_closed(), &scope.place) {
            scope
                .settings
                .close(place, "several expressions meet here, and which guard holds cannot be written");
        }
        scope
    };
    let certain = domain.certain;
    let domain = &domain.select;
    if let Some(select) = scope.select.both(domain) {
        out.push(if certain { Scope { select, ..scope.clone() } } else { wider(select) });
        return;
    }
    let guards = scope.settings.guards();
    let globs = |select: &Select| matches!(select.path, PathSet::Globs(_));
    let folder = match &domain.path {
        PathSet::Under(path) | PathSet::Begins(path) | PathSet::Exact(path) => path,
        PathSet::All | PathSet::Globs(_) => {
            out.extend(guards.then(|| wider(scope.select.clone())));
            return;
        }
    };
    let Some(wide) = wide.filter(|_| globs(&scope.select)) else {
        // Two paths of which none lies in the other have nothing in common.
        out.extend((guards && globs(&scope.select)).then(|| wider(domain.clone())));
        return;
    };
    let whole = folder.ends_with('/');
    let folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
    let head = crate::spell::literal(folder).unwrap_or_default();
    let path = match wide.below(folder) {
        Some(PathSet::Globs(globs)) => PathSet::Globs(globs.iter().map(|g| format!("{head}{g}")).collect()),
        Some(_) => domain.path.clone(),
        None => return,
    };
    let select = Select { path, extensions: domain.extensions.clone() };
    // Of what only begins like the domain more is taken than lies in it: only guards may.
    match whole && certain {
        true => out.push(Scope { select, ..scope.clone() }),
        false => out.extend(guards.then(|| wider(select))),
    }
}
