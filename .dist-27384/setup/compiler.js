import { SetupError } from './errors.js';
import { runProcess } from './process.js';
export async function findCompiler(env, signal) {
    const given = env.CXX?.trim().split(/\s+/).filter(Boolean) ?? [];
    const candidates = given.length > 0 ? [given] : [['g++'], ['clang++'], ['c++']];
    for (const [command = '', ...args] of candidates) {
        const result = await runProcess(command, [...args, '--version'], { env, signal, timeoutMs: 30_000 });
        if (result.kind === 'exited' && result.code === 0)
            return { command, args, version: result.stdout.split('\n', 1)[0]?.trim() ?? '' };
    }
    throw new SetupError(given.length > 0
        ? `CXX is "${env.CXX}", which cannot be run.`
        : 'No C++ compiler was found (looked for g++, clang++ and c++).', 'Install one (Debian, Ubuntu: sudo apt install g++; Fedora: sudo dnf install gcc-c++; Alpine: not supported), ' +
        'or set CXX to it, and run `npx whetstone setup`.');
}
//# sourceMappingURL=compiler.js.map