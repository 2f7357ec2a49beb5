//! IIS: the attributes of `caching` and its profiles, of `serverRuntime`, of `clientCache`, and fields that caches go by.

use crate::Becomes::{Differs, Line, Named, Same};
use crate::{Row, table};
use samovar_import::Source;

const SECTIONS: &[Row] = &[
    ("<caching enabled=\"false\"/>", Line("cache = false")),
    ("<caching enabled=\"true\"/>", Same),
    ("<caching enableKernelCache=\"false\"/>", Line("hot = false")),
    ("<caching enableKernelCache=\"true\"/>", Same),
    ("<caching maxCacheSize=\"64\"/>", Line("size = \"64 MiB\"")),
    ("<caching maxCacheSize=\"0\"/>", Same),
    ("<caching maxCacheSize=\"all\"/>", Named("cannot be read")),
    ("<caching maxResponseSize=\"1024\"/>", Line("max_bytes = \"1 KiB\"")),
    ("<caching maxResponseSize=\"0\"/>", Named("no bound")),
    ("<caching invented=\"1\"/>", Named("does not know")),
    ("<serverRuntime frequentHitThreshold=\"3\"/>", Line("admit_after = 3")),
    ("<serverRuntime frequentHitTimePeriod=\"00:00:20\"/>", Line("admit_period = \"20s\"")),
    ("<serverRuntime frequentHitThreshold=\"x\"/>", Named("cannot be read")),
    (
        "<staticContent><clientCache cacheControlMode=\"UseMaxAge\" cacheControlMaxAge=\"00:01:00\"/></staticContent>",
        Line("client_cache_control = \"max-age=60\""),
    ),
    (
        "<staticContent><clientCache cacheControlMode=\"DisableCache\"/></staticContent>",
        Line("client_cache_control = \"no-cache\""),
    ),
    (
        "<staticContent><clientCache cacheControlCustom=\"public\"/></staticContent>",
        Line("client_cache_control = \"public\""),
    ),
    ("<staticContent><clientCache cacheControlMode=\"NoControl\"/></staticContent>", Same),
    (
        "<staticContent><clientCache cacheControlMode=\"UseExpires\" httpExpires=\"Tue, 19 Jan 2038 03:14:07 GMT\"/></staticContent>",
        Named("fixed date"),
    ),
    (
        "<staticContent><clientCache cacheControlMode=\"UseMaxAge\" cacheControlMaxAge=\"soon\"/></staticContent>",
        Named("no time"),
    ),
    (
        "<httpProtocol><customHeaders><add name=\"Cache-Control\" value=\"public\"/></customHeaders></httpProtocol>",
        Line("client_cache_control = \"public\""),
    ),
    (
        "<httpProtocol><customHeaders><add name=\"Expires\" value=\"0\"/></customHeaders></httpProtocol>",
        Line("client_fields = [{ set = \"Expires\", value = \"0\" }]"),
    ),
    (
        "<httpProtocol><customHeaders><add name=\"Vary\" value=\"Accept\"/></customHeaders></httpProtocol>",
        Line("response_fields = [{ append = \"Vary\", value = \"Accept\" }]"),
    ),
    (
        "<httpProtocol><customHeaders><add name=\"ETag\" value=\"x\"/></customHeaders></httpProtocol>",
        Named("ETag"),
    ),
];

/// Attributes of a profile, beside the others that they need.
const PROFILES: &[Row] = &[
    ("policy=\"CacheForTimePeriod\"", Line("for = \"30s\"")),
    ("policy=\"CacheForTimePeriod\" duration=\"00:00:10\"", Line("for = \"10s\"")),
    ("policy=\"CacheForTimePeriod\" duration=\"soon\"", Named("no time")),
    ("policy=\"CacheUntilChange\"", Line("until_changed = true")),
    (
        "policy=\"CacheUntilChange\" duration=\"00:00:10\"",
        Differs("until_changed = true", "memory is needed"),
    ),
    ("policy=\"DisableCache\"", Line("never = true")),
    ("policy=\"Invented\"", Named("not known")),
    ("policy=\"DontCache\"", Line("respect = true")),
    ("kernelCachePolicy=\"CacheForTimePeriod\"", Line("for = \"30s\"")),
    ("policy=\"CacheForTimePeriod\" kernelCachePolicy=\"CacheForTimePeriod\"", Line("hot = true")),
    ("policy=\"CacheForTimePeriod\" kernelCachePolicy=\"DisableCache\"", Line("hot = false")),
    (
        "policy=\"CacheForTimePeriod\" kernelCachePolicy=\"CacheUntilChange\"",
        Differs("for = \"30s\"", "both tiers"),
    ),
    ("policy=\"CacheForTimePeriod\" varyByHeaders=\"A;B\"", Line("vary_headers = [\"A\", \"B\"]")),
    ("policy=\"CacheForTimePeriod\" varyByHeaders=\"A B\"", Differs("never = true", "nothing is stored")),
    ("policy=\"CacheForTimePeriod\" varyByQueryString=\"a\"", Line("vary_query = { keep = [\"a\"] }")),
    ("policy=\"CacheForTimePeriod\" varyByQueryString=\"*\"", Line("for = \"30s\"")),
    ("policy=\"CacheForTimePeriod\" varyByQueryString=\"a b\"", Differs("for = \"30s\"", "whole query")),
    ("policy=\"CacheForTimePeriod\" location=\"Any\"", Line("client_cache_control = \"public, max-age=30\"")),
    (
        "policy=\"CacheForTimePeriod\" location=\"ServerAndClient\"",
        Line("client_cache_control = \"private, max-age=30\""),
    ),
    (
        "policy=\"CacheForTimePeriod\" location=\"Client\"",
        Line("client_fields = [{ set = \"Cache-Control\", value = \"private, max-age=30\" }]"),
    ),
    ("policy=\"CacheForTimePeriod\" location=\"Client\"", Line("never = true")),
    ("policy=\"CacheForTimePeriod\" location=\"Downstream\"", Line("never = true")),
    ("policy=\"CacheForTimePeriod\" location=\"None\"", Line("never = true")),
    ("policy=\"CacheForTimePeriod\" location=\"Server\"", Line("for = \"30s\"")),
    ("policy=\"CacheForTimePeriod\" location=\"Moon\"", Differs("for = \"30s\"", "taken for Server")),
    ("policy=\"CacheForTimePeriod\" invented=\"1\"", Differs("for = \"30s\"", "does not know")),
];

#[test]
fn each_attribute_has_its_effect_or_is_named() {
    let around = "<configuration>\n<system.webServer>\n@\n</system.webServer>\n</configuration>\n";
    table(Source::Iis, around, SECTIONS);
    let profile = |row: &Row| {
        let text = format!("<caching><profiles><add extension=\".jpg\" {}/></profiles></caching>", row.0);
        table(Source::Iis, around, &[(Box::leak(text.into_boxed_str()), row.1)]);
    };
    PROFILES.iter().for_each(profile);
    let web = "<configuration>\n<system.web>\n@\n</system.web>\n</configuration>\n";
    let caching = "<caching><outputCacheSettings/></caching>";
    table(Source::Iis, web, &[(caching, Named("application's own cache"))]);
}
