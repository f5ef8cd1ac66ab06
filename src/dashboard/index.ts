/** The dashboard: a page over run directories, and the server that it asks. */
export { Dashboard, type DashboardOptions } from './server.js'
