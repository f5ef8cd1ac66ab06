import { RemoteGenerator } from '../remote/remote-generator.js';
import { vllmDialect } from './dialect.js';
/**
 * vLLM servers as an engine, or our own `whetstone serve`. Resolves when one of them can be used.
 *
 * @example
 * const engine = await connectVllm({ urls: ['http://127.0.0.1:8000'], vocabSize: 151_936 })
 */
export function connectVllm(options) {
    return RemoteGenerator.connect(vllmDialect({ model: options.model }), options);
}
//# sourceMappingURL=connect.js.map