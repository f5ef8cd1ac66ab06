/** The dashboard: a page over run directories, and the server that it asks. */
export { makeReport, type Report, type ReportOptions } from './report.js'
export { Dashboard, type DashboardOptions } from './server.js'
