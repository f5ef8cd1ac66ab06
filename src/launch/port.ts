import { createServer } from 'node:net'
import { LaunchError } from './errors.js'

/**
 * The port a server is to listen at: the one given, if nothing else does, or any that is free. Whoever listens there already
 * would be taken for the server that could not.
 */
export async function choosePort(host: string, port: number | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? `port ${port} of ${host} is in use`
          : `${host}: cannot listen on this address (${error.code})`
      reject(new LaunchError(reason, { cause: error }))
    })
    probe.listen({ host, port: port ?? 0, exclusive: true }, () => {
      const address = probe.address()
      const chosen = typeof address === 'object' && address !== null ? address.port : (port ?? 0)
      probe.close(() => resolve(chosen))
    })
  })
}
