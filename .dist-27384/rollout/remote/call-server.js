import { EngineError, ProtocolError } from './errors.js';
import { serverWords } from './server-words.js';
/** The parsed body of a success; undefined where it is empty or no JSON. */
export async function callServer(server, call) {
    const { method = 'POST', path, body, timeoutMs, step } = call;
    const { status, text } = await server.request(method, path, {
        ...(body === undefined ? {} : { body }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    if (status < 200 || status > 299)
        throw stepError(server, step, status, text);
    try {
        return JSON.parse(text);
    }
    catch {
        return undefined;
    }
}
export function stepError(server, step, status, text) {
    const words = serverWords(text);
    const answered = `${server.url}: ${step}: the server answered ${status}${words === '' ? '' : `: ${words}`}`;
    // Other things than keys are forbidden too, and servers say which.
    if (status !== 401 && !(status === 403 && words === ''))
        return new EngineError(answered);
    const key = server.sendsKey === false ? 'No API key was sent' : 'The API key that was sent is not accepted';
    return new EngineError(`${answered}. ${key}.`, {
        remedy: "In a config, generator.apiKeyEnv names the environment variable that holds the server's key.",
    });
}
/** A JSON object, or a `ProtocolError`. */
export function asObject(value, what) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
        throw new ProtocolError(`${what} should be an object, got ${JSON.stringify(value)?.slice(0, 80)}`);
    return value;
}
export function asArray(value, what) {
    if (!Array.isArray(value))
        throw new ProtocolError(`${what} should be a list, got ${JSON.stringify(value)?.slice(0, 80)}`);
    return value;
}
//# sourceMappingURL=call-server.js.map