import { RemoteGenerator } from '../remote/remote-generator.js';
import { sglangDialect } from './dialect.js';
/**
 * SGLang servers as an engine. Resolves when one of them can be used. Its log-probabilities are after temperature and before
 * filters; seeds mean something where the servers run with `--enable-deterministic-inference`.
 *
 * @example
 * const engine = await connectSglang({ urls: ['http://127.0.0.1:30000'], vocabSize: 151_936 })
 */
export function connectSglang(options) {
    return RemoteGenerator.connect(sglangDialect, options);
}
//# sourceMappingURL=connect.js.map