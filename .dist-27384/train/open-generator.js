/** What generates samples: the engine in this process, servers that are there, or one that is started for it. */
import { join, relative } from 'node:path';
import { startEngine } from '../launch/index.js';
import { connectSglang, connectVllm, LocalEngine } from '../rollout/index.js';
import { keyOf } from './check-generator.js';
/** Most of a GPU is the training's: its activations come and go beside the engine's cache. */
export const generationCacheShare = 0.2;
export async function openGenerator(options) {
    const { config, actor, tokenizer } = options;
    if (config.type === 'local') {
        const share = actor.device === 'cpu' ? {} : { cacheShare: generationCacheShare };
        const engine = new LocalEngine(actor, { tokenizer, ...share });
        return { generator: engine, close: () => engine.close() };
    }
    const started = config.urls ? undefined : await start(options, config.type);
    try {
        const generator = await connect(options, config.urls ?? [started.url]);
        const close = async () => {
            try {
                await generator.close();
            }
            finally {
                await started?.stop();
            }
        };
        return { generator, close };
    }
    catch (error) {
        await started?.stop();
        throw error;
    }
}
function connect({ config, actor, model, tokenizer, onEvent, signal }, urls) {
    const { type, maxInFlight, requestMinutes, patienceMinutes, servedModelName, tolerance } = config;
    const { weightsDirectory, serverWeightsDirectory: seen } = config;
    const apiKey = keyOf(config);
    const open = type === 'vllm' ? connectVllm : connectSglang;
    return open({
        urls,
        vocabSize: actor.vocabSize,
        tokenizer,
        modelDirectory: model,
        maxInFlight,
        requestTimeoutMs: Math.round(requestMinutes * 60_000),
        patienceMs: Math.round(patienceMinutes * 60_000),
        version: actor.version,
        onEvent,
        signal,
        ...(servedModelName === undefined ? {} : { model: servedModelName }),
        ...(apiKey === undefined ? {} : { apiKey }),
        ...(tolerance === undefined ? {} : { proofTolerance: tolerance }),
        ...(seen === undefined ? {} : { serverPath: path => join(seen, relative(weightsDirectory, path)) }),
    });
}
async function start(options, type) {
    const { config, actor, model, loraRank, sleep, logDirectory, report, signal } = options;
    const { command, flags } = config;
    const apiKey = keyOf(config);
    const working = report.live();
    try {
        return await startEngine({
            type,
            model,
            flags,
            signal,
            sleep,
            dtype: actor.dtype,
            ...(actor.device === 'cpu' ? { device: 'cpu' } : {}),
            onProgress: ({ seconds, lastLine }) => working.show(`starting ${type}, ${seconds.toFixed(0)} s: ${lastLine}`),
            ...(command === undefined ? {} : { command: [command] }),
            ...(apiKey === undefined ? {} : { apiKey }),
            ...(loraRank === undefined ? {} : { loraRank }),
            ...(logDirectory === undefined ? {} : { logFile: join(logDirectory, `${type}.log`) }),
        });
    }
    finally {
        working.end();
    }
}
//# sourceMappingURL=open-generator.js.map