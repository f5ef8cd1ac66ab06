import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { LaunchError } from './errors.js';
/** How each server is called, and how to get it. */
export const programs = {
    vllm: {
        label: 'vLLM',
        variable: 'WHETSTONE_VLLM',
        program: 'vllm',
        args: [],
        remedy: 'Install it (python3 -m venv vllm && vllm/bin/pip install vllm) and put its bin/ on the PATH, or set WHETSTONE_VLLM to the `vllm` program.',
    },
    sglang: {
        label: 'SGLang',
        variable: 'WHETSTONE_SGLANG_PYTHON',
        program: 'python3',
        args: ['-m', 'sglang.launch_server'],
        remedy: "Install it (python3 -m venv sglang && sglang/bin/pip install sglang) and set WHETSTONE_SGLANG_PYTHON to that environment's `bin/python`.",
    },
};
export async function findCommand(options) {
    const { label, variable, program, args, remedy } = programs[options.type];
    const set = options.env[variable] || undefined;
    const [name = program, ...rest] = options.command ?? [set ?? program, ...args];
    const found = await findProgram(name, options.env);
    if (found !== undefined)
        return [found, ...rest];
    const where = name.includes('/') ? 'is not a program that can be run' : 'is not on the PATH';
    const by = options.command === undefined && set !== undefined ? ` (${variable})` : '';
    throw new LaunchError(`${label}: ${name}${by} ${where}`, { remedy });
}
async function findProgram(name, env) {
    const places = name.includes('/')
        ? [resolve(name)]
        : (env.PATH ?? '')
            .split(delimiter)
            .filter(isAbsolute)
            .map(folder => join(folder, name));
    for (const path of places)
        if (await isProgram(path))
            return path;
    return undefined;
}
async function isProgram(path) {
    try {
        await access(path, constants.X_OK);
        return (await stat(path)).isFile();
    }
    catch {
        return false;
    }
}
/** Programs of a virtual environment find each other by the PATH, also where nobody activated it. */
export function pathWith([program], env) {
    return [dirname(program), env.PATH].filter(Boolean).join(delimiter);
}
//# sourceMappingURL=find-command.js.map