//! What a refusal at the door answers with: status by reason (RFC 9110 §15.5, RFC 6585), and the error a
//! service sees when the body it was reading was refused.
//!
//! Not here: the refusal's page (the server writes it, `CoreSide::on_reject`).

use http::StatusCode;
use samovar_reason::{Explain, Reject};

/// The status that answers a refused request.
///
/// [`Reject::IdleTimeout`] and [`Reject::SendTimeout`] close the connection without an answer; 408 stands for them
/// in logs.
pub fn status(reject: Reject) -> StatusCode {
    match reject {
        Reject::BadRequestLine
        | Reject::BadFieldName
        | Reject::BadFieldValue
        | Reject::BareLineFeed
        | Reject::FoldedField
        | Reject::BadHost
        | Reject::BadContentLength
        | Reject::LengthAndChunked
        | Reject::BadTransferEncoding
        | Reject::BadChunk
        | Reject::BadEscape
        | Reject::AboveRoot
        | Reject::PlainHttp
        | Reject::NoProxyHead
        | Reject::BadProxyHead
        | Reject::TlsHandshake => StatusCode::BAD_REQUEST,
        Reject::BadVersion => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
        Reject::UriTooLong => StatusCode::URI_TOO_LONG,
        Reject::HeadTooLarge | Reject::TooManyFields | Reject::TooManyOptions => {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        }
        Reject::BodyTooLarge | Reject::BodyTooLargeHere => StatusCode::PAYLOAD_TOO_LARGE,
        Reject::HeadTimeout
        | Reject::HeadGaveWay
        | Reject::BodyTimeout
        | Reject::IdleTimeout
        | Reject::SendTimeout => StatusCode::REQUEST_TIMEOUT,
        Reject::BadExpect => StatusCode::EXPECTATION_FAILED,
        Reject::ConnectMethod => StatusCode::NOT_IMPLEMENTED,
        Reject::Stopping | Reject::HeadsFull | Reject::TooManyConnections | Reject::TooManyFromAddress => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

/// The source of the error with which hyper ends a request body that the layer refused half way.
///
/// The layer has then answered and will close; whatever the service still returns is thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyRejected(pub Reject);

impl std::fmt::Display for BodyRejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "request body refused: {}", self.0.text())
    }
}

impl std::error::Error for BodyRejected {}

#[cfg(test)]
mod tests {
    use super::status;
    use samovar_reason::Reject;

    #[test]
    fn every_refusal_is_an_error_status() {
        for &reject in Reject::ALL {
            let code = status(reject);
            assert!(code.is_client_error() || code.is_server_error(), "{reject}: {code}");
        }
    }
}
