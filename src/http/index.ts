/** What clients of HTTP servers share: addresses, secrets that are not shown, waiting. */
export * from './client.js'
export { DownloadError, type DownloadOptions, download, errorCode } from './download.js'
export { tlsProblem } from './tls-problem.js'
