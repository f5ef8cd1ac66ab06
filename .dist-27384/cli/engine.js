import { z } from 'zod';
import { isLoopback, startEngine } from '../launch/index.js';
import { reportFor } from '../progress/index.js';
import { choice, directory, file, flagHelp, integer, number, readFlags, text, toggle, UsageError } from './flags.js';
import { interruptible } from './interrupt.js';
const isKey = /^[\x21-\x7e]+$/;
const flags = z.object({
    type: choice(['vllm', 'sglang'], 'TYPE', 'vllm or sglang'),
    model: directory('a Hugging Face model directory'),
    host: text('HOST', 'the address to listen at; 127.0.0.1: this machine alone', 'an address').default('127.0.0.1'),
    port: integer('default: any that is free', { min: 1, max: 65535 }).optional(),
    name: text('NAME', "the model's name in requests (default: the directory's)", 'a name').optional(),
    device: choice(['cpu', 'gpu'], 'DEVICE', 'cpu: a server built for it, with memory for small models').default('gpu'),
    dtype: text('DTYPE', "of the weights and the computation, as float32 (default: the server's choice)", 'a dtype').optional(),
    maxLength: integer("tokens a prompt and its response may have together (default: the model's)", {
        min: 1,
    }).optional(),
    loraRank: integer('the highest rank of adapters that a run will load (default: none will)', { min: 1 }).optional(),
    memoryShare: number({
        description: "how much of the GPU's memory it takes",
        placeholder: 'SHARE',
        expected: 'a number above 0 and at most 1',
        accepts: value => value > 0 && value <= 1,
    }).optional(),
    sleep: toggle("able to lend the GPU's memory to a trainer on the same card"),
    log: file('what the server prints (default: a temporary file)').optional(),
    readyMinutes: integer('how long it may take to start', { min: 1 }).default(10),
});
export const help = `Usage: whetstone engine start --type vllm|sglang --model DIR [options] [-- the server's own flags]

Starts a vLLM or SGLang that is installed on this machine with what a run needs of it (token ids, log-probabilities of what was
drawn, weights that can be changed), waits until it is ready and says how a run uses it. Ctrl-C or SIGTERM ends it.

The server is \`vllm\` of the PATH or the one WHETSTONE_VLLM names; SGLang that of \`python3\`, or of the Python that
WHETSTONE_SGLANG_PYTHON names. A key that requests must send comes from WHETSTONE_API_KEY.

${flagHelp(flags)}
`;
export async function run(args) {
    const { own, further } = splitAtDashes(actionFirst(args));
    const { log, readyMinutes, device, sleep, type, model, host, ...rest } = readFlags(own, flags);
    const apiKey = process.env.WHETSTONE_API_KEY || undefined;
    if (apiKey !== undefined && !isKey.test(apiKey))
        throw new UsageError('WHETSTONE_API_KEY: expected printable characters without spaces');
    const report = reportFor(process.env);
    return interruptible({
        work: async (signal) => {
            const engine = await start({
                ...present({ ...rest, apiKey, logFile: log }),
                ...(device === 'cpu' ? { device } : {}),
                ...(sleep ? { sleep: 'enabled' } : {}),
                ...{ type, model, host, flags: further, readyTimeoutMs: readyMinutes * 60_000, signal },
            });
            report.line(`${engine.model} at ${engine.url}, its log in ${engine.logFile}`);
            report.line(`In a run's config:\n  generator:\n    type: ${type}\n    urls: [${engine.url}]`);
            if (!isLoopback(host))
                report.line('Anyone who reaches this address can change its weights: keep it on a private network.');
            return untilEnd(engine, signal);
        },
        onInterrupt: () => report.line('The server has ended.'),
    });
}
async function start(options) {
    const live = reportFor(process.env).live();
    // A person watches every second; a log needs a line now and then.
    const everySeconds = process.stderr.isTTY ? 0 : 15;
    let shown = -everySeconds;
    try {
        return await startEngine({
            ...options,
            onProgress({ seconds, lastLine }) {
                if (seconds - shown < everySeconds)
                    return;
                shown = seconds;
                live.show(`starting ${options.type}, ${Math.round(seconds)} s  ${lastLine.slice(0, 100)}`.trimEnd());
            },
        });
    }
    finally {
        live.end();
    }
}
/** The exit code of a server that ended by itself; an interruption is thrown. */
async function untilEnd(engine, signal) {
    const interrupted = new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        if (signal.aborted)
            reject(signal.reason);
    });
    try {
        const { code, signal: ended } = await Promise.race([engine.exited, interrupted]);
        reportFor(process.env).line(`The server ended (${ended ?? `exit code ${code}`}); its log is in ${engine.logFile}`);
        return code || 1;
    }
    finally {
        await engine.stop();
    }
}
function actionFirst([action, ...rest]) {
    if (action === 'start')
        return rest;
    throw new UsageError(action === undefined || action.startsWith('-') ? 'expected an action: start' : `unknown action "${action}"`);
}
function splitAtDashes(args) {
    const at = args.indexOf('--');
    return at === -1 ? { own: [...args], further: [] } : { own: args.slice(0, at), further: args.slice(at + 1) };
}
/** Without what was not given. */
function present(values) {
    return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
//# sourceMappingURL=engine.js.map