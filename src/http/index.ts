/** What clients of HTTP servers share: addresses, secrets that are not shown, waiting. */
export { isApiKey, parseRetryAfter, parseServerUrl, redactor, type ServerUrl, shownUrl } from './client.js'
export { DownloadError, type DownloadOptions, download, errorCode } from './download.js'
export { tlsProblem } from './tls-problem.js'
