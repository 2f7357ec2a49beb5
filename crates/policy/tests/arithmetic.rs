//! Ages and lifetimes beside RFC 9111 §4.2 restated: the formulas here are written from the text, in whole seconds and
//! wide integers, and share no code with the crate.

mod common;

use common::{MONO_MS, WALL_MS, get, heads, wishes};
use http::StatusCode;
use proptest::prelude::*;
use samovar_policy::{Exchange, Now, Verdict, reuse, storable};

/// An answer as the origin meant it; times in seconds from the moment it arrived.
#[derive(Clone, Debug)]
struct Meant {
    s_maxage: Option<u32>,
    max_age: Option<u32>,
    expires: Option<i64>,
    date: Option<i32>,
    age: Option<u32>,
    last_modified: Option<i32>,
    response_delay_ms: u32,
}

fn meant() -> impl Strategy<Value = Meant> {
    let span = || proptest::option::of(prop_oneof![0_u32..300, any::<u32>()]);
    let offset = || proptest::option::of(prop_oneof![-300_i32..300, -1_000_000_000_i32..1_000_000_000]);
    let expires = proptest::option::of(prop_oneof![-300_i64..300, -1_000_000_000_i64..9_000_000_000]);
    (span(), span(), expires, offset(), span(), offset(), prop_oneof![0_u32..5_000, any::<u32>()]).prop_map(
        |(s_maxage, max_age, expires, date, age, last_modified, response_delay_ms)| Meant {
            s_maxage,
            max_age,
            expires,
            date,
            age,
            last_modified,
            response_delay_ms,
        },
    )
}

impl Meant {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![("etag", "\"e\"".to_owned())];
        let date = |offset: i32| common::date(i64::from(offset));
        fields.extend(self.s_maxage.map(|s| ("cache-control", format!("s-maxage={s}"))));
        fields.extend(self.max_age.map(|s| ("cache-control", format!("max-age={s}"))));
        fields.extend(self.expires.map(|s| ("expires", common::date(s))));
        fields.extend(self.date.map(|s| ("date", date(s))));
        fields.extend(self.age.map(|s| ("age", s.to_string())));
        fields.extend(self.last_modified.map(|s| ("last-modified", date(s))));
        fields
    }

    /// §1.2.2: what is larger counts as 2^31.
    fn bounded(seconds: u32) -> i128 {
        i128::from(seconds).min(2_147_483_648)
    }

    /// §4.2.3, ms.
    fn current_age(&self, resident_ms: u64) -> i128 {
        let date_value = i128::from(self.date.unwrap_or(0));
        let apparent_age = (-date_value).max(0) * 1000;
        let corrected_age_value =
            self.age.map_or(0, Meant::bounded) * 1000 + i128::from(self.response_delay_ms);
        apparent_age.max(corrected_age_value) + i128::from(resident_ms)
    }

    /// §4.2.1 and §4.2.2 with a factor of a tenth and a day at most, ms.
    fn freshness_lifetime(&self) -> i128 {
        let date_value = i128::from(self.date.unwrap_or(0));
        if let Some(seconds) = self.s_maxage.or(self.max_age) {
            return Meant::bounded(seconds) * 1000;
        }
        if let Some(expires) = self.expires {
            return (i128::from(expires) - date_value).clamp(0, 2_147_483_648) * 1000;
        }
        match self.last_modified {
            Some(modified) => ((date_value - i128::from(modified)).max(0) * 100).min(86_400_000),
            None => 0,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn ages_and_lifetimes_are_the_rfcs(meant in meant(), resident_ms in prop_oneof![0_u64..600_000, 0_u64..1 << 40]) {
        let fields = meant.fields();
        let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let request = heads(&[]);
        let delay_ms = u64::from(meant.response_delay_ms);
        let mono_ms = MONO_MS + (1 << 33);
        let at = Exchange {
            requested: Now { mono_ms: mono_ms - delay_ms, wall_ms: WALL_MS - delay_ms },
            answered: Now { mono_ms, wall_ms: WALL_MS },
        };
        let decision = storable(&get(&request), StatusCode::OK, &heads(&fields), &wishes(), at, None);
        let f = decision.freshness.unwrap();
        let now = Now { mono_ms: mono_ms + resident_ms, wall_ms: WALL_MS + resident_ms };
        let found = reuse(&f, &get(&request), &wishes(), now);

        let (age, lifetime) = (meant.current_age(resident_ms), meant.freshness_lifetime());
        prop_assert_eq!(i128::from(found.age_ms), age);
        prop_assert_eq!(i128::from(f.lifetime_ms), lifetime);
        prop_assert_eq!(i128::from(found.ttl_ms), lifetime - age);
        // §4.2: response_is_fresh = (freshness_lifetime > current_age)
        prop_assert_eq!(found.verdict == Verdict::Serve, lifetime > age);
    }
}

#[test]
fn ages_that_cannot_be_believed_are_stale() {
    for lines in [
        vec!["abc"],
        vec!["-5"],
        vec!["5.0"],
        vec![""],
        vec!["5, 5"],
        vec!["0", "0"],
        vec!["5", "7200"],
        vec!["5;a=b"],
    ] {
        let fields: Vec<(&str, &str)> = [("cache-control", "max-age=2147483647"), ("etag", "\"e\"")]
            .into_iter()
            .chain(lines.iter().map(|l| ("age", *l)))
            .collect();
        let f = common::store(&[], &fields, &wishes()).freshness.unwrap();
        assert!(samovar_policy::ttl_ms(&f, common::after(0)) <= 0, "{lines:?}");
    }
    for (line, want_ms) in [("0", 0), (" 7 ", 7_000), ("007", 7_000), ("99999999999999999999", 1000 << 31)] {
        let f = common::store(&[], &[("etag", "\"e\""), ("age", line)], &wishes()).freshness.unwrap();
        assert_eq!(f.initial_age_ms, want_ms, "{line}");
    }
}

#[test]
fn nothing_outlives_the_largest_age() {
    // Both ends overflow: the comparison must still say stale (RFC 9111 §1.2.2).
    let fields = [("cache-control", "max-age=99999999999"), ("age", "99999999999"), ("etag", "\"e\"")];
    let f = common::store(&[], &fields, &wishes()).freshness.unwrap();
    assert_eq!(samovar_policy::ttl_ms(&f, common::after(0)), 0);
}
