/** A first look at a server, before models are loaded: whether it takes the key, what it is, and what it cannot do. */
import { setTimeout as delay } from 'node:timers/promises';
import { sglangDialect } from '../sglang/dialect.js';
import { vllmDialect } from '../vllm/dialect.js';
import { TransportError } from './errors.js';
import { HttpServer } from './http-server.js';
import { resolveRemoteOptions } from './options.js';
/** A server that has more to do than to answer this is looked at later. */
const patienceMs = 10_000;
/** Of those that answer; one that does not may still be starting. Throws where a server refuses. Changes nothing on servers. */
export async function inspectServers(options) {
    const { type, urls, apiKey, model } = options;
    const dialect = type === 'vllm' ? vllmDialect({ model }) : sglangDialect;
    const { addresses } = resolveRemoteOptions({ urls, vocabSize: 1, ...(apiKey === undefined ? {} : { apiKey }) });
    const found = await Promise.all(addresses.map(async (address) => {
        const server = new HttpServer({ address, apiKey, maxInFlight: 1, controlTimeoutMs: patienceMs });
        const late = new AbortController();
        try {
            const looked = dialect.inspect(server).then(inspected => [{ url: server.url, ...inspected }]);
            return await Promise.race([looked, delay(patienceMs, [], { signal: late.signal })]);
        }
        catch (error) {
            if (error instanceof TransportError)
                return [];
            throw error;
        }
        finally {
            late.abort();
            await server.close();
        }
    }));
    return found.flat();
}
//# sourceMappingURL=inspect.js.map