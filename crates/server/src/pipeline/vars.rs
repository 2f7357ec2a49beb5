//! What the names in a rule's texts stand for in this request.

use super::exchange::{Exchange, Route};
use samovar_rules::{Acts, Vars};

/// Of a request and its route as the client asked.
pub(super) fn vars(x: &Exchange, route: &Route, acts: &Acts) -> Vars {
    Vars {
        stars: acts.stars_in(&route.path),
        path: route.path.clone(),
        query: route.query.clone(),
        host: route.host.clone(),
        scheme: x.client.scheme,
        client: x.client.remote.map(|address| address.ip()),
        id: x.id,
        user: x.user.as_deref().unwrap_or("").to_owned(),
    }
}
