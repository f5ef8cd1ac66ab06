import { basename, resolve } from 'node:path';
import { z } from 'zod';
import { reportFor } from '../progress/index.js';
import { openEngine } from '../rollout/index.js';
import { logprobsModes, ModelServer } from '../serve/index.js';
import { conversationTemplateFlag } from './chat-template-flag.js';
import { engineFlags, engineOptions, several, usableDevice } from './engine-flags.js';
import { choice, directory, flagHelp, flagName, integer, readFlags, text, toggle, UsageError } from './flags.js';
import { endSignal } from './interrupt.js';
const isKey = /^[\x21-\x7e]+$/;
const expectedKey = 'expected a key of printable characters without spaces; an empty one would be no protection';
const flags = engineFlags.extend({
    host: text('HOST', 'the address to listen at; 127.0.0.1: this machine alone', 'an address').default('127.0.0.1'),
    port: integer('0: any that is free', { min: 0, max: 65535 }).default(8000),
    apiKey: z
        .string()
        .regex(isKey, expectedKey)
        .meta({
        placeholder: 'KEY',
        description: 'clients must send it as a bearer token; also by WHETSTONE_API_KEY, which other users cannot see',
    })
        .optional(),
    allowHost: several(z
        .string()
        .regex(/^[a-z0-9_.-]+$/i, 'expected a name without scheme and port')
        .meta({
        placeholder: 'NAME',
        description: 'a name clients may reach it by, besides localhost and addresses; several times for several',
    })),
    allowOrigin: several(z
        .string()
        .regex(/^(\*|[a-z][a-z0-9+.-]*:\/\/[^/\s]+\/?)$/i, 'expected https://chat.example or the like, or *')
        .meta({
        placeholder: 'ORIGIN',
        description: 'a web origin whose pages may ask, as https://chat.example, or *; several times for several',
    })),
    chatTemplate: conversationTemplateFlag.meta({
        description: "of chats: auto, the tokenizer's own; chatml or a file of Jinja, one in its place",
    }),
    servedModelName: text('NAME', "the model's name in requests (default: the directory's)", 'a name').optional(),
    maxRequests: integer('requests answered at once; more get 429 (default 512)', { min: 1 }).optional(),
    maxSamples: integer('choices of all requests generated at once; more get 429 (default 16384)', { min: 1 }).optional(),
    maxBodyMb: integer('the largest body of a request (default 16)', { min: 1 }).optional(),
    maxRequestMb: integer('what a request and its answer may take; more gets 400 (default 256)', { min: 1 }).optional(),
    maxTotalMb: integer('what all requests may take at once; more get 429 (default 1024)', { min: 1 }).optional(),
    logprobsMode: choice(logprobsModes, 'MODE', "raw_logprobs: of the model's own distribution; processed_logprobs: of the one tokens are drawn from").default('raw_logprobs'),
    control: toggle('clients may pause it, put it to sleep, and have it read other weights; needs a key'),
    weightsRoot: directory('with --control: the directory that weights and adapters are read from').optional(),
    enableLora: toggle("with --control: adapters can be loaded; takes another copy of the layers' matrices"),
    maxLoras: integer('with --enable-lora: adapters loaded at once (default 8)', { min: 1 }).optional(),
    drainSeconds: integer('how long requests in flight may take after SIGTERM', { min: 0 }).default(30),
});
export const help = `Usage: whetstone serve --model DIR [options]

Serves a model over HTTP, as OpenAI's API with vLLM's further fields: /v1/completions, /v1/chat/completions, /v1/models,
/inference/v1/generate, /tokenize, /detokenize, /health, /metrics. Ctrl-C or SIGTERM lets the requests in flight end.
With --control it is a rollout server: a training on another machine drives it by vLLM's control routes.

${flagHelp(flags)}
`;
export async function run(args) {
    const { host, port, drainSeconds, allowHost, allowOrigin, ...values } = readFlags(args, flags);
    const apiKey = values.apiKey ?? process.env.WHETSTONE_API_KEY;
    if (apiKey !== undefined && !isKey.test(apiKey))
        throw new UsageError(`WHETSTONE_API_KEY: ${expectedKey}`);
    checkControl(values, apiKey);
    usableDevice(values.device);
    const limits = {
        maxRequests: values.maxRequests,
        maxSamples: values.maxSamples,
        maxBodyBytes: bytes(values.maxBodyMb),
        maxRequestBytes: bytes(values.maxRequestMb),
        maxTotalBytes: bytes(values.maxTotalMb),
    };
    const report = reportFor(process.env);
    const loading = report.transfer('loading');
    const opened = await openEngine(values.model, {
        ...engineOptions(values),
        chatTemplate: values.chatTemplate,
        ...(values.enableLora ? { adapters: 'exchangeable' } : {}),
        onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
    }).finally(() => loading.end());
    try {
        const name = values.servedModelName ?? basename(resolve(values.model));
        const server = await ModelServer.start({
            engine: opened.engine,
            tokenizer: opened.tokenizer,
            name,
            host,
            port,
            allowHosts: allowHost,
            allowOrigins: allowOrigin,
            logprobsMode: values.logprobsMode,
            ...(values.control ? { control: controlOptions(values, opened) } : {}),
            ...(apiKey === undefined ? {} : { apiKey }),
            ...Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined)),
        }).catch((error) => {
            if (error.code === 'EADDRINUSE')
                throw new UsageError(`--port: ${port} is in use`);
            throw error;
        });
        const open = apiKey === undefined && !['127.0.0.1', '::1', 'localhost'].includes(host);
        report.line(`${name} at http://${host.includes(':') ? `[${host}]` : host}:${server.port}/v1`);
        if (open)
            report.line('Anyone who reaches this address can use it: --api-key asks for a key.');
        await endSignal();
        report.line('Ending: requests in flight are answered first.');
        await server.close({ graceMs: drainSeconds * 1000 });
        return 0;
    }
    finally {
        await opened.close();
    }
}
/** Said before anything is loaded. */
function checkControl({ control, weightsRoot, enableLora, maxLoras }, apiKey) {
    if (control && apiKey === undefined)
        throw new UsageError('--control needs a key (--api-key, or better WHETSTONE_API_KEY): it lets clients change what is served');
    const given = { weightsRoot, enableLora, maxLoras };
    for (const [name, value] of Object.entries(given))
        if (value !== undefined && !control)
            throw new UsageError(`${flagName(name)} goes with --control`);
    if (enableLora && weightsRoot === undefined)
        throw new UsageError('--enable-lora needs --weights-root, where adapters are read from');
    if (maxLoras !== undefined && !enableLora)
        throw new UsageError('--max-loras goes with --enable-lora');
}
const controlOptions = ({ weightsRoot, maxLoras }, { weights }) => ({
    weights,
    ...(weightsRoot === undefined ? {} : { weightsRoot }),
    ...(maxLoras === undefined ? {} : { maxAdapters: maxLoras }),
});
const bytes = (megabytes) => megabytes === undefined ? undefined : megabytes * 2 ** 20;
//# sourceMappingURL=serve.js.map