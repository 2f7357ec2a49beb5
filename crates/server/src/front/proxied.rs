//! The beginning of a connection by which a trusted proxy says for whom it speaks (PROXY protocol), read off the socket.
//!
//! Not here: what its bytes mean (`samovar_hot::proxy`), who is trusted (`[server] proxy_protocol`).

use samovar_hot::proxy::{self, Read, Says};
use samovar_reason::Reject;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};

/// What came instead of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoHead {
    /// Nothing, and then the end: a proxy that looked whether anybody is here.
    LeftAtOnce,
    /// Too little in time, or something else.
    Refused(Reject),
}

/// Reads the head and not a byte more.
pub(super) async fn head<S: AsyncRead + Unpin>(stream: &mut S, patience: Duration) -> Result<Says, NoHead> {
    match tokio::time::timeout(patience, whole(stream)).await {
        Ok(found) => found,
        Err(_) => Err(NoHead::Refused(Reject::NoProxyHead)),
    }
}

async fn whole<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Says, NoHead> {
    let mut bytes = Vec::new();
    loop {
        let more = match proxy::read(&bytes).map_err(NoHead::Refused)? {
            Read::Whole(says) => return Ok(says),
            Read::More(more) => more,
        };
        // No more than are asked for; what has come is judged at once, so that nonsense is not waited for.
        let mut room = (&mut *stream).take(more as u64);
        match room.read_buf(&mut bytes).await {
            Ok(0) | Err(_) if bytes.is_empty() => return Err(NoHead::LeftAtOnce),
            Ok(0) | Err(_) => return Err(NoHead::Refused(Reject::BadProxyHead)),
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    const LINE: &[u8] = b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n";

    #[tokio::test]
    async fn not_a_byte_more_is_read_than_belongs_to_it() {
        for step in [1, 7, 1000] {
            let (mut theirs, mut ours) = tokio::io::duplex(1 << 16);
            let all = [LINE, b"GET / HTTP/1.1\r\n"].concat();
            for piece in all.chunks(step) {
                theirs.write_all(piece).await.unwrap();
            }
            drop(theirs);
            let says = head(&mut ours, Duration::from_secs(5)).await.unwrap();
            assert!(matches!(says, Says::Client { source, .. } if source.to_string() == "192.0.2.1:56324"));
            let mut rest = String::new();
            ours.read_to_string(&mut rest).await.unwrap();
            assert_eq!(rest, "GET / HTTP/1.1\r\n", "in steps of {step}");
        }
    }

    #[tokio::test]
    async fn what_is_no_head() {
        let came = async |bytes: &[u8], ends: bool| {
            let (mut theirs, mut ours) = tokio::io::duplex(1 << 16);
            theirs.write_all(bytes).await.unwrap();
            let kept = (!ends).then_some(theirs);
            let found = head(&mut ours, Duration::from_millis(300)).await.unwrap_err();
            drop(kept);
            found
        };
        assert_eq!(came(b"", true).await, NoHead::LeftAtOnce);
        assert_eq!(came(b"", false).await, NoHead::Refused(Reject::NoProxyHead));
        assert_eq!(came(b"PROXY TCP4 ", false).await, NoHead::Refused(Reject::NoProxyHead));
        assert_eq!(came(b"PROXY TCP4 ", true).await, NoHead::Refused(Reject::BadProxyHead));
        // At once, without waiting for more.
        assert_eq!(came(b"G", false).await, NoHead::Refused(Reject::BadProxyHead));
        assert_eq!(came(b"\x16\x03\x01", false).await, NoHead::Refused(Reject::BadProxyHead));
    }
}
