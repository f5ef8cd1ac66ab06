/** Messages and remedies for TLS failures. */

interface Problem {
  /** Codes and messages of Node, OpenSSL and libraries. */
  readonly matches: RegExp
  readonly what: string
  readonly remedy: string
}

const problems: readonly Problem[] = [
  {
    matches: /DEPTH_ZERO_SELF_SIGNED_CERT|self[- ]signed certificate(?! in)/i,
    what: "the server's certificate is self-signed, and this machine does not trust it",
    remedy: 'Give that certificate as tls.ca (caFile in a description).',
  },
  {
    matches: /SELF_SIGNED_CERT_IN_CHAIN|self[- ]signed certificate in certificate chain/i,
    what: "the authority that signed the server's certificate is not one that this machine trusts",
    remedy: "Give the authority's certificate as tls.ca (caFile in a description).",
  },
  {
    matches: /UNABLE_TO_VERIFY_LEAF|UNABLE_TO_GET_ISSUER|unable to verify the first|unable to get (local )?issuer/i,
    what: "this machine does not know the authority that signed the server's certificate",
    remedy: "Give the authority's certificate as tls.ca (caFile in a description).",
  },
  {
    matches: /CERT_HAS_EXPIRED|certificate has expired/i,
    what: "the server's certificate has expired",
    remedy: "Renew it on the server, and check this machine's clock.",
  },
  {
    matches: /CERT_NOT_YET_VALID|certificate is not yet valid/i,
    what: "the server's certificate is not valid yet",
    remedy: 'Check the clocks of this machine and of the server.',
  },
  {
    matches: /ALTNAME_INVALID|does not match certificate's altnames/i,
    what: "the server's certificate is for another host name",
    remedy: 'Use a host name of the certificate in the URL, or a certificate with this one.',
  },
  {
    matches: /CERT_REVOKED|certificate revoked/i,
    what: "the server's certificate was revoked",
    remedy: 'Give the server a new one.',
  },
  {
    matches: /CERTIFICATE_REQUIRED|certificate required|alert bad certificate|HANDSHAKE_FAILURE|handshake failure/i,
    what: 'the server refused the connection: it wants a client certificate, or other ciphers',
    remedy: 'Give a certificate and its key as tls.cert and tls.key.',
  },
  {
    matches: /ALERT_UNKNOWN_CA|alert unknown ca/i,
    what: 'the server does not trust our client certificate',
    remedy: 'Give a certificate that its authority signed as tls.cert, with its key as tls.key.',
  },
  {
    matches: /WRONG_VERSION_NUMBER|wrong version number|PACKET_LENGTH_TOO_LONG|packet length too long/i,
    what: 'the server does not speak TLS on this port',
    remedy: 'Use http:// (grpc://), or the port on which it speaks TLS.',
  },
  {
    matches: /UNSUPPORTED_PROTOCOL|unsupported protocol|ALERT_PROTOCOL_VERSION|alert protocol version/i,
    what: 'the server and this machine have no TLS version in common',
    remedy: 'Let the server speak TLS 1.2 or newer.',
  },
]

/** Undefined where the error is not about TLS. */
export function tlsProblem(code: string, text: string): { what: string; remedy: string } | undefined {
  const found = problems.find(({ matches }) => matches.test(code)) ?? problems.find(({ matches }) => matches.test(text))
  if (found) return { what: found.what, remedy: found.remedy }
  if (!/^(CERT_|ERR_TLS|ERR_SSL|ERR_OSSL)|CERT$/.test(code)) return undefined
  return { what: `the TLS connection failed: ${text}`, remedy: "Check the server's certificate and tls.ca." }
}
