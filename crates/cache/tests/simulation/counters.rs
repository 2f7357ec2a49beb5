//! How often each kind of event happened: a simulation proves nothing of what it never met.

use crate::client::Client;
use crate::oracle::{PurgeScope, Way};
use samovar_reason::Store;

macro_rules! counters {
    ($($name:ident: $text:literal,)+) => {
        #[derive(Default)]
        pub struct Counters { $(pub $name: u64,)+ }

        impl Counters {
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$(($text, self.$name),)+]
            }

            pub fn add(&mut self, other: &Counters) {
                $(self.$name += other.$name;)+
            }
        }
    };
}

counters! {
    own: "answer for the request that fetched it",
    hits: "hit",
    shared: "answer shared as it arrived",
    confirmations_given: "answer given after a 304",
    in_place_of_error: "stale in place of an error",
    while_refreshed: "stale while refreshed",
    joined: "join",
    fetched: "fetch",
    known: "fetch alone, known not to be storable",
    passed: "pass",
    other_variant: "joined a fill of another variant",
    not_shared: "joined what may not be shared",
    failed_together: "failed with the fill joined",
    waited_too_long: "waited too long for a fill",
    too_late_to_read: "came too late to read along",
    broke_off: "answer broke off while read",
    gone_while_read: "evicted, replaced or purged while read",
    ranges: "range",
    left_waiting: "abort while waiting",
    left_reading: "abort while reading",
    killed: "fill stopped without a word",
    died: "origin died before the head",
    stalled: "origin stalled",
    cut: "origin died in the body",
    stored: "stored",
    refused_private: "refused: no-store, private, cookie, Vary: *",
    refused_secret: "refused: credentials",
    refused_status: "refused: status",
    too_large: "too large",
    held_back: "fill held back by a slow reader",
    nobody_reads: "fill given up, nobody reads",
    confirmed: "304",
    purged_key: "purge of a URL",
    purged_prefix: "purge of a prefix",
    purged_tag: "purge of a tag",
    purged_all: "purge of everything",
    purged_made: "purge by a changed file",
    purged_soft: "soft purge",
    purged_fill: "purge that overtook a fill",
    overtaken: "body not stored for a newer one",
    purged_in_flight: "body not stored for a purge",
    purged_in_refresh: "304 not kept for a purge",
    asked_part: "range fetched",
    part_hits: "hit out of parts",
    part_stored: "part stored",
    put_together: "part put together with others",
    verbatim: "part stored as it is",
    part_of_other_length: "part of another length than it says",
    part_refused: "part not stored",
    completed: "parts completed",
    rest_useless: "rest of no use, asked again",
    rest_of_other_length: "rest of another length than it says",
    unsatisfiable: "range beyond the end",
    evicted: "eviction",
    resized: "change of the budget",
}

impl Counters {
    pub fn way(&mut self, way: Way) {
        match way {
            Way::Own => self.own += 1,
            Way::Stored => self.hits += 1,
            Way::Shared => self.shared += 1,
            Way::Confirmed => self.confirmations_given += 1,
            Way::InPlaceOfError { .. } => self.in_place_of_error += 1,
            Way::WhileRefreshed => self.while_refreshed += 1,
        }
    }

    pub fn purged(&mut self, scope: PurgeScope, soft: bool, fills: u64) {
        match scope {
            PurgeScope::Key(_) => self.purged_key += 1,
            PurgeScope::Low => self.purged_prefix += 1,
            PurgeScope::Tag(_) => self.purged_tag += 1,
            PurgeScope::All => self.purged_all += 1,
        }
        self.purged_soft += u64::from(soft);
        self.purged_fill += fills;
    }

    pub fn aborted(&mut self, client: &Client) {
        self.left_waiting += u64::from(client.is_waiting());
        self.left_reading += u64::from(client.is_reading());
    }

    pub fn refused(&mut self, reason: Store) {
        match reason {
            Store::NoStore | Store::Private | Store::SetCookie | Store::VaryStar => self.refused_private += 1,
            Store::RequestAuthorization => self.refused_secret += 1,
            Store::StatusNotStorable => self.refused_status += 1,
            _ => {}
        }
    }
}
