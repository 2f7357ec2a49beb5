//! The one place that knows the order of a request's life.
//!
//! `Arrived → Routed → Admitted → Looked → Ready → Done`: each step takes the value before it and gives the next, so a wrong
//! order does not compile. What each step decides comes from the pure rooms (`rules`, `policy`, `cache`), with
//! its reason; here it is only carried out and noted.
//!
//! Not here: sockets and connections (`front`), how one attempt at an origin runs (`origin`).

mod answered;
mod arrive;
mod attempt;
mod body;
mod coded;
mod coding;
mod dress;
mod exchange;
mod fill;
mod finish;
mod gate;
mod held;
mod instead;
mod interim;
mod keep;
mod learn;
mod look;
mod manner;
pub mod page;
mod part;
mod pass;
mod promote;
mod reply;
mod respond;
mod route;
mod siblings;
mod take_in;
mod upgrade;
mod upload;
mod vars;
mod wanted;

pub use self::arrive::{Arrived, arrive, arrive_by_door, drop_claims};
pub use self::attempt::file_refusal;
pub use self::body::{Body, Cut, Switch};
pub use self::coding::{foreseen, refused as coding_refused, unfit as coding_unfit};
pub use self::exchange::{Connection, Exchange, Route};
pub use self::finish::{line, record_hot};
pub use self::gate::asked;
pub(crate) use self::look::with_ask;
pub use self::manner::{Manner, goes_as_it_is, manner, of_stored};
pub use self::promote::barred;
pub use self::respond::Ready;
pub use self::route::{default_document, pass_unlearned, settled, unkeyed, wishes_for};
pub use self::upgrade::{fact as upgrade_fact, would_ask as would_ask_to_upgrade};

/// Lives a request through, from its head to the head of its answer; the body follows by itself.
pub async fn answer(arrived: Arrived) -> http::Response<Body> {
    let ready = match route::route(arrived) {
        Ok(routed) => match gate::admit(routed).await {
            Ok(admitted) => look::look(admitted).fetch().await,
            Err(ready) => *ready,
        },
        Err(ready) => *ready,
    };
    instead::instead(ready).await.respond()
}
