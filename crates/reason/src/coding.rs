//! Why an answer went out coded, or as it is.

use crate::reasons;

reasons! {
    /// Why an answer was, or was not, compressed.
    Coding, "coding" {
        Stored = "coded-stored", "a coded form that is kept beside the stored answer was sent", "";
        OnTheFly = "coded-on-the-fly", "the answer was compressed while it was sent", "";
        ByOrigin = "coded-by-origin", "the answer came compressed and is passed on as it is", "";
        NotModified = "coded-not-modified", "the client holds a coded form that is still good", "";
        Off = "compress-off", "the rule does not compress", "set `compress = true`";
        NotAccepted = "coding-not-accepted", "the client prefers the answer as it is, by its Accept-Encoding", "";
        StatusNotCoded = "status-not-coded", "answers with this status have no whole body", "";
        RangeNotCoded = "range-not-coded", "ranges are cut from the plain body, so that parts of two forms never meet", "";
        NoTransform = "no-transform", "the origin forbids changing its answer (`Cache-Control: no-transform`)", "the origin can drop `no-transform`";
        TypeNotListed = "type-not-compressed", "this media type is not compressed: it is not listed, or there is none", "list it in `compress.types`, or let the origin send a Content-Type";
        EventStream = "event-stream", "events are sent as they come and not compressed", "list `text/event-stream` in `compress.types`: it is then flushed at each pause";
        TooSmall = "too-small-to-compress", "the body is smaller than is worth compressing", "lower `compress.min_bytes`";
        NotWorth = "coding-does-not-pay", "it was compressed and became hardly smaller", "";
        Busy = "compress-busy", "the processor is busy, and compressing gives way", "more cores, `[compression] yield_at`, or answers that may be stored: they are compressed once";
        Failed = "compress-failed", "the encoder could not be set up", "look at the log; memory may be short";
        Required = "coding-required", "the rule requires a coding that the client does not accept", "the client can send `Accept-Encoding: gzip`; see the rule's `require_coding`";
    }
}
