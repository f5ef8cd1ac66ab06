/** An OpenAI-compatible server over the local engine. */
export { ModelServer, type ServeOptions } from './server.js'
