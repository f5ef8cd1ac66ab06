import { mkdtemp, open, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { InputError } from '../errors/index.js';
import { LaunchError } from './errors.js';
import { findCommand, pathWith, programs } from './find-command.js';
import { engineInvocation, readyPath } from './invocation.js';
import { hideInLog, lastLines } from './log-tail.js';
import { choosePort } from './port.js';
import { removeScratch, startProcess } from './server-process.js';
const pollMs = 250;
/**
 * Starts a server that is installed on this machine with what a trainer needs of it, and waits until it takes requests. It ends
 * with this process, also with a crash of it.
 *
 * @example
 * async function withServer(model: string): Promise<void> {
 *   const engine = await startEngine({ type: 'vllm', model, maxLength: 2048 })
 *   console.log(engine.url)
 *   await engine.stop()
 * }
 */
export async function startEngine(options) {
    const { type, host = '127.0.0.1', signal } = options;
    signal?.throwIfAborted();
    const model = await modelDirectory(options.model);
    const env = { ...process.env, ...options.env };
    const command = await findCommand({ type, command: options.command, env });
    const port = await choosePort(host, options.port);
    const name = options.name ?? basename(model);
    const logFile = resolve(options.logFile ?? join(await mkdtemp(join(tmpdir(), `whetstone-${type}-`)), 'engine.log'));
    const server = await launch({ ...options, host, port, model, name, command, inherited: env, logFile });
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    try {
        await becomeReady({ ...options, url, logFile, server });
    }
    catch (error) {
        await server.stop();
        throw error;
    }
    return { type, url, model: name, pid: server.pid, logFile, exited: server.exited, stop: () => server.stop() };
}
async function modelDirectory(given) {
    const model = resolve(given);
    const found = await stat(join(model, 'config.json')).catch(() => undefined);
    if (!found?.isFile())
        throw new InputError(`${given}: not a model directory; there is no config.json`);
    return model;
}
async function launch(options) {
    const { type, command, inherited, logFile, apiKey } = options;
    const invocation = engineInvocation(options);
    const log = await open(logFile, 'a', 0o600).catch(cause => {
        throw new InputError(`${logFile}: cannot be written (${cause.code})`, { cause });
    });
    const scratch = await mkdtemp(join(tmpdir(), `whetstone-${type}-scratch-`));
    try {
        return await startProcess({
            command,
            args: [...invocation.args, ...(type === 'sglang' ? await keyFile(scratch, apiKey) : [])],
            env: {
                ...inherited,
                ...invocation.env,
                // Sockets and the like, of which SGLang leaves some behind.
                TMPDIR: scratch,
                PATH: pathWith(command, inherited),
                ...(type === 'vllm' && apiKey !== undefined ? { VLLM_API_KEY: apiKey } : {}),
                ...options.env,
            },
            log: log.fd,
            scratch,
        });
    }
    catch (cause) {
        await removeScratch(scratch);
        throw new LaunchError(`${command[0]}: cannot be run (${cause.code})`, { cause });
    }
    finally {
        await log.close();
    }
}
/** SGLang takes its key from arguments, which every user of the machine can see, or from a file, which only ours can. */
async function keyFile(scratch, apiKey) {
    if (apiKey === undefined)
        return [];
    const path = join(scratch, 'key.yaml');
    await writeFile(path, `api-key: ${JSON.stringify(apiKey)}\n`, { mode: 0o600 });
    return ['--config', path];
}
async function becomeReady(options) {
    const { type, url, apiKey, server, logFile, readyTimeoutMs = 600_000, signal } = options;
    const { label, remedy } = programs[type];
    const started = performance.now();
    let exit;
    server.exited.then(found => {
        exit = found;
    });
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    for (;;) {
        signal?.throwIfAborted();
        await hideInLog(logFile, apiKey);
        if (exit !== undefined) {
            const said = await lastLines(logFile, 30);
            const missing = said.some(line => /No module named '?(sglang|vllm)\b/.test(line));
            const unknown = said.some(line => /unrecognized arguments|No such option/i.test(line));
            throw new LaunchError(`${label} ended (${describe(exit)}) before it was ready${withLog(said, logFile)}`, {
                ...(missing ? { remedy } : unknown ? { remedy: otherVersion(type) } : {}),
            });
        }
        const waited = performance.now() - started;
        if (waited > readyTimeoutMs) {
            const said = withLog(await lastLines(logFile, 30), logFile);
            throw new LaunchError(`${label} was not ready after ${Math.round(waited / 1000)} s${said}`);
        }
        if (await answers(`${url}${readyPath(type)}`, headers))
            return hideInLog(logFile, apiKey);
        options.onProgress?.({ seconds: waited / 1000, lastLine: (await lastLines(logFile, 1))[0] ?? '' });
        await Promise.race([delay(pollMs, undefined, signal ? { signal } : {}).catch(() => { }), server.exited]);
    }
}
async function answers(url, headers) {
    try {
        const { ok, body } = await fetch(url, { headers, signal: AbortSignal.timeout(5000), redirect: 'error' });
        await body?.cancel();
        return ok;
    }
    catch {
        return false;
    }
}
const otherVersion = (type) => `This version has other flags than those a run needs. Start it by hand, and name it in generator.urls: docs/${type}.md has the flags and versions.`;
const describe = ({ code, signal }) => (signal === null ? `exit code ${code}` : signal);
const withLog = (lines, logFile) => lines.length === 0
    ? `; it printed nothing to ${logFile}`
    : `; the last lines of ${logFile}:\n${lines.map(line => `  ${line}`).join('\n')}`;
//# sourceMappingURL=start-engine.js.map