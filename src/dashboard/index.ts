/** The dashboard: a page over run directories, the server that it asks, and the same views for a terminal and a file. */
export type { SampleRow } from './api.js'
export { question } from './question.js'
export { makeReport, type Report } from './report.js'
export { SampleView } from './sample-view.js'
export { Dashboard, type DashboardOptions } from './server.js'
