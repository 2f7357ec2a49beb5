//! What the requests of a scenario have in common, so that a file says it once.
//!
//! Not here: how a file says it.

use super::scenario::{Field, Request, Scenario, Step, Transaction};

/// With more fields than this in a request, which no person writes, none are looked for that all have.
const FIELDS_MAX: usize = 32;
/// Of so many requests the fields are tried as those of all.
const TRIED: usize = 4;

/// The requests of a scenario, in their order.
pub(crate) fn requests(scenario: &Scenario) -> impl Iterator<Item = &Request> {
    scenario.transactions.iter().flat_map(of)
}

/// The requests of a transaction, in their order.
pub(crate) fn of(transaction: &Transaction) -> impl Iterator<Item = &Request> {
    transaction.steps.iter().filter_map(|step| match step {
        Step::Request(request) => Some(&**request),
        _ => None,
    })
}

/// What most requests say, where `base` is what a format takes for granted. A server and a port, which a single request
/// cannot take back, only where all have them; fields where all can be said with them; nothing where there is but one
/// request.
pub(crate) fn common(scenario: &Scenario, base: Request) -> Request {
    let all: Vec<&Request> = requests(scenario).collect();
    let [first, _, ..] = all.as_slice() else { return base };
    let same = |is: &dyn Fn(&Request) -> bool| all.iter().all(|request| is(request));
    Request {
        version: most(&all, base.version, |request| request.version),
        status: most(&all, base.status, |request| request.status),
        secure: most(&all, base.secure, |request| request.secure),
        cookies: most(&all, base.cookies, |request| request.cookies),
        redirect: most(&all, base.redirect, |request| request.redirect),
        close: most(&all, base.close, |request| request.close),
        server: first.server.clone().filter(|_| same(&|request| request.server == first.server)),
        port: first.port.filter(|_| same(&|request| request.port == first.port)),
        fields: fields(&all),
        ..base
    }
}

/// What most of them say; where as many say another, what is taken for granted.
fn most<T: Copy + PartialEq>(all: &[&Request], base: T, of: fn(&Request) -> T) -> T {
    let mut counts = vec![(base, 0_usize)];
    for request in all {
        let said = of(request);
        match counts.iter_mut().find(|(known, _)| *known == said) {
            Some((_, count)) => *count += 1,
            None => counts.push((said, 1)),
        }
    }
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(base, |(most, _)| *most)
}

/// The beginning of one request's fields with which there is the least to be said of all.
fn fields(all: &[&Request]) -> Vec<Field> {
    if all.iter().any(|request| request.fields.len() > FIELDS_MAX) {
        return Vec::new();
    }
    let begun = all
        .iter()
        .take(TRIED)
        .flat_map(|request| (1..=request.fields.len()).filter_map(|len| request.fields.get(..len)));
    let mut tried: Vec<&[Field]> = Vec::new();
    let (mut best, mut least) = (&[][..], all.iter().map(|request| request.fields.len()).sum::<usize>());
    for common in begun {
        if !tried.contains(&common) {
            tried.push(common);
            let each = all.iter().map(|request| own(&request.fields, common).map(<[Field]>::len));
            match each.sum::<Option<usize>>() {
                Some(owned) if owned + common.len() < least => (best, least) = (common, owned + common.len()),
                _ => {}
            }
        }
    }
    best.to_vec()
}

/// What is to be added to `common` so that just these fields come of it; as little as can be.
pub(crate) fn own<'f>(fields: &'f [Field], common: &[Field]) -> Option<&'f [Field]> {
    (0..=fields.len().min(common.len())).rev().filter_map(|taken| fields.get(taken..)).find(|own| {
        let mut made = Request { fields: common.to_vec(), ..Request::plain() };
        own.iter().for_each(|field| made.add(field.clone()));
        made.fields == fields
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wcat::Part;

    fn list(text: &str) -> Vec<Field> {
        let field = |word: &str| Field {
            name: vec![Part::Text(word[1..2].to_owned())],
            value: vec![Part::Text(word[2..].to_owned())],
            replaces: word.starts_with('='),
        };
        text.split_whitespace().map(field).collect()
    }

    #[test]
    fn fields_of_all_and_of_one() {
        for (all, common, owned) in [
            (["=a1 =b1", "=a1 =b1"], "=a1 =b1", ["", ""]),
            (["=a1 =b1 =c1", "=a1 =b1 +a2"], "=a1 =b1", ["=c1", "+a2"]),
            // The second puts another in the place of the first's.
            (["=a1 =b1", "=b1 =a2"], "=a1 =b1", ["", "=a2"]),
            (["=b1 =a2", "=a1 =b1"], "=a1 =b1", ["=a2", ""]),
            (["=a1", "+a1"], "", ["=a1", "+a1"]),
            (["=a1 =b1", "=b1 =a1"], "=a1 =b1", ["", "=a1"]),
            (["=a1", ""], "", ["=a1", ""]),
        ] {
            let requests = all.map(|fields| Request { fields: list(fields), ..Request::plain() });
            let found = fields(&requests.iter().collect::<Vec<_>>());
            assert_eq!(found, list(common), "{all:?}");
            for (request, want) in requests.iter().zip(owned) {
                assert_eq!(own(&request.fields, &found), Some(&list(want)[..]), "{all:?}");
            }
        }
    }
}
