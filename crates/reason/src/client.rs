//! Why a client's request was refused before anything was asked of the cache.

use crate::reasons;

reasons! {
    /// Why a request was refused at the door.
    Reject, "reject" {
        BadRequestLine = "bad-request-line", "the request line is malformed", "";
        BadVersion = "bad-version", "the HTTP version is not spoken here", "";
        BadFieldName = "bad-field-name", "a field name holds a character it must not", "";
        BadFieldValue = "bad-field-value", "a field value holds a character it must not", "";
        BareLineFeed = "bare-line-feed", "a line ends in a bare line feed or carriage return", "";
        FoldedField = "folded-field", "a field is folded over several lines (RFC 9112 §5.2)", "";
        BadHost = "bad-host", "the Host field is missing, repeated or malformed", "";
        BadContentLength = "bad-content-length", "Content-Length is malformed or contradicts itself", "";
        LengthAndChunked = "length-and-chunked", "both Content-Length and Transfer-Encoding are given", "";
        BadTransferEncoding = "bad-transfer-encoding", "Transfer-Encoding is not exactly `chunked`", "";
        BadChunk = "bad-chunk", "the chunked body is malformed", "";
        UriTooLong = "uri-too-long", "the request target exceeds the limit", "raise `limits.line_max_bytes`";
        HeadTooLarge = "head-too-large", "the fields exceed the limit", "raise `limits.head_max_bytes`";
        TooManyFields = "too-many-fields", "there are more fields than allowed", "raise `limits.fields_max`";
        TooManyOptions = "too-many-options", "Connection names more than is looked at (64)", "";
        BodyTooLarge = "body-too-large", "the body exceeds the limit", "raise `limits.body_max_bytes`";
        BodyTooLargeHere = "body-too-large-here", "the body exceeds the limit that holds for this path", "raise the rule's or the site's `body_max_bytes`";
        HeadTimeout = "head-timeout", "the head did not arrive in time", "raise `limits.head_timeout`";
        HeadGaveWay = "head-gave-way", "the memory for heads of requests was used up, and of those unfinished this was begun first", "send the head at once; or raise `memory.size`, of which heads get an eighth";
        HeadsFull = "heads-full", "the memory for heads of requests is used up by requests under way", "ask again; or raise `memory.size`, of which heads get an eighth, or lower `limits.head_max_bytes`";
        BodyTimeout = "body-timeout", "the body did not arrive in time", "raise `limits.body_timeout`";
        IdleTimeout = "idle-timeout", "nothing came on the connection for a while", "";
        SendTimeout = "send-timeout", "the client did not take the answer in time", "raise `limits.send_timeout`";
        BadExpect = "bad-expect", "the Expect field asks for something unknown", "";
        ConnectMethod = "connect-method", "CONNECT is not served here", "";
        Stopping = "stopping", "the server is stopping", "";
        PlainHttp = "plain-http", "this port speaks TLS and the request came without", "ask for it with https://";
        TlsHandshake = "tls-handshake", "the TLS handshake failed or took too long", "";
        NoProxyHead = "no-proxy-head", "the proxy did not begin the connection with a PROXY protocol head in time", "let the proxy send it, or take its address out of `server.proxy_protocol`";
        BadProxyHead = "bad-proxy-head", "the PROXY protocol head that began the connection is malformed, or there is none", "let the proxy send it (version 1 or 2), or take its address out of `server.proxy_protocol`";
        TooManyConnections = "too-many-connections", "there are more connections than allowed", "raise `limits.connections_max`";
        TooManyFromAddress = "too-many-from-address", "this address has more connections than allowed", "raise `limits.connections_per_address`, or name the proxy in `server.trusted_proxies`";
        BadEscape = "bad-escape", "the path holds a broken or forbidden percent escape", "";
        AboveRoot = "above-root", "the path climbs above the root", "";
    }
}
