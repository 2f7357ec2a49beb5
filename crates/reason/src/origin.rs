//! Why an attempt at an origin failed.

use crate::reasons;

reasons! {
    /// Why an upstream gave no whole answer.
    Upstream, "upstream" {
        Refused = "upstream-refused", "the upstream refused the connection", "is it running, and is the address right?";
        Unreachable = "upstream-unreachable", "the upstream cannot be reached", "check the network and the address";
        Unresolved = "upstream-unresolved", "the upstream's name does not resolve", "check the name";
        SocketMissing = "upstream-socket-missing", "the upstream's unix socket does not exist", "is it running, and is the path right?";
        SocketDenied = "upstream-socket-denied", "the upstream's unix socket may not be opened by this user", "check the socket's owner and mode";
        ConnectTimeout = "upstream-connect-timeout", "the upstream did not accept the connection in time", "raise `connect_timeout`, or look at the upstream's backlog";
        HeadTimeout = "upstream-head-timeout", "the upstream did not answer in time", "raise `head_timeout`, or find out why it is slow";
        BodyTimeout = "upstream-body-timeout", "the upstream stopped sending", "raise `body_timeout`";
        UpgradedFull = "upgraded-full", "as many connections to the upstream as may have changed to another protocol (WebSocket)", "raise `upgraded_max`, and `max_connections` with it";
        QueueFull = "queue-full", "as many requests as may be are under way, and the queue before them is full", "`samovar limits` says which limit binds; raise it, or answer more from the cache";
        QueueTimeout = "queue-timeout", "the request waited in the queue for as long as it may", "`samovar limits` says which limit binds; raise it, or find out why the upstream is slow";
        Reset = "upstream-reset", "the upstream closed the connection before it answered", "look at the upstream's own log";
        BadHead = "upstream-bad-head", "the upstream's answer is not HTTP as it should be", "what is wrong with it stands beside; is this an HTTP port?";
        BadFraming = "upstream-bad-framing", "the upstream's answer contradicts itself about its length", "";
        ShortBody = "upstream-short-body", "the upstream stopped before the length it had announced", "look at the upstream's own log";
        HeadTooLarge = "upstream-head-too-large", "the upstream's head exceeds the limit", "raise `head_max_bytes`";
        ClientGone = "client-gone", "the client left or stopped sending its body", "";
        NotFastCgi = "upstream-not-fastcgi", "the upstream does not speak FastCGI", "is this a FastCGI port?";
        NoMember = "no-member", "no member of the upstream is enabled", "`samovar upstream enable`";
        Overloaded = "upstream-overloaded", "the application is at its limit and refused the request", "raise php-fpm's `pm.max_children`";
        LoopDetected = "loop-detected", "the request has already passed through this server", "an upstream points back at this listener";
        NoSockets = "no-sockets", "this machine has no free file descriptor or port for another connection", "raise the limit on open files, or close what holds them";
        Unsendable = "unsendable", "the request cannot be put into the words of the upstream's protocol", "";
        LengthRequired = "length-required", "the application must know the body's length before it starts, and the body came without one and was too long to hold", "send the body with a Content-Length";
    }
}

reasons! {
    /// Why a connection to an origin carries no request after this one.
    Reuse, "reuse" {
        ContentUndefined = "content-undefined", "the request carried content that its method gives no meaning, and what the origin left unread it would take for the next request", "send no content with GET, HEAD, DELETE and OPTIONS";
        ContentUnfinished = "content-unfinished", "the origin responded before all of the request's content was sent, so it may not have read it", "";
        ContentRefused = "content-refused", "the origin responded with an error or a redirection to a request with content, so it may not have read it", "";
        ContentWithheld = "content-withheld", "the response to HEAD announces content, and an origin that sends it all the same would begin the next response with it", "";
        AfterBodyNever = "reuse-after-body-never", "the upstream's `reuse_after_body` is \"never\", and the request carried content", "set `reuse_after_body = \"auto\"`, if the origin reads all content";
    }
}

reasons! {
    /// Why files gave no answer.
    Files, "files" {
        NotFound = "file-not-found", "there is no such file", "";
        Hidden = "file-hidden", "this file is never served", "dot-files, web.config, .htaccess, script sources, private keys and Samovar's own configuration stay hidden";
        OutsideRoot = "file-outside-root", "the path leads out of the root", "links that leave the root are not followed";
        NoIndex = "no-index", "the folder has no index document and listing is off", "add an index document, or set `listing = true`";
        NoHandler = "no-handler", "no handler is configured for this script extension, and its source is not served", "add `handlers = [{ extension = \"…\", fastcgi = \"…\" }]` to the site";
        Unreadable = "file-unreadable", "the file may not be read by this user", "check the owner and mode of the file";
        MethodNotAllowed = "file-method", "files answer only GET, HEAD and OPTIONS", "";
        NotAFile = "not-a-file", "the path names neither a file nor a folder", "";
        RootGone = "root-gone", "the root folder is gone", "restore it, or change `files`";
        Changed = "file-changed", "the file changed while it was being sent", "";
        LinkRefused = "file-link-refused", "the path goes through a link, and links are not followed here", "set `follow_links = true`; links that leave the root are never followed";
        IoError = "file-io-error", "reading failed", "look at the system's log";
    }
}
