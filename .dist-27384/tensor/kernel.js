/**
 * CUDA kernels from source files, compiled by NVRTC when they are first launched on a device and kept on disk by source and
 * architecture. A launch is an instruction like any other: eager, inside programs, inside captured graphs.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDirectory } from '../files/index.js';
import { Code, special } from './call.js';
import { ArgumentError } from './errors.js';
import { native } from './native.js';
const letters = {
    int32: 'i',
    int64: 'l',
    float32: 'f',
    float64: 'd',
    tensor: 't',
    'tensor:float32': 'F',
    'tensor:float16': 'H',
    'tensor:bfloat16': 'B',
    'tensor:float64': 'D',
    'tensor:int32': 'I',
    'tensor:int64': 'L',
    'tensor:uint8': 'U',
    'tensor:bool': 'O',
};
/**
 * ```ts
 * const swiglu = new Kernel({
 *   file: new URL('./swiglu.cu', import.meta.url),
 *   entry: 'swiglu',
 *   parameters: ['tensor:bfloat16', 'tensor:bfloat16', 'int64'],
 * })
 * swiglu.launch({ grid: [1024], block: [256] }, x, y, n)
 * ```
 *
 * Tensors are contiguous, but for those in tiles, and start at a multiple of 16 bytes. Whether the kernel stays inside their
 * memory is its own affair.
 */
export class Kernel {
    ref;
    constructor(options) {
        const file = fileURLToPath(options.file);
        const source = kernelSource(file, options.define ?? {});
        const parameters = options.parameters.map(encodeParameter).join('');
        this.ref = native.newKernel(source, file, options.entry, parameters, cachePath(source));
    }
    launch(shape, ...parameters) {
        const [gx, gy = 1, gz = 1] = shape.grid;
        const [bx, by = 1, bz = 1] = shape.block;
        const [cx, cy = 1, cz = 1] = shape.cluster ?? [1];
        const overlap = shape.overlap ? 1 : 0;
        const head = [gx, gy, gz, bx, by, bz, shape.sharedBytes ?? 0, cx, cy, cz, overlap];
        special(Code.Kernel, [...head, ...parameters], 0, this.ref);
    }
}
/** As `readParameters` in native/kernel.cc takes them. */
function encodeParameter(parameter) {
    if (typeof parameter === 'string')
        return letters[parameter];
    const { tiles, box } = parameter;
    const whole = box.every(length => Number.isInteger(length) && length >= 1 && length <= 256);
    if (!whole || box.length < 1 || box.length > 5 || box.at(-1) !== 64) {
        throw new ArgumentError(`a box of tiles has 1 to 5 dimensions of 1 to 256 elements, the last of 64 (128 bytes), got [${box.join(', ')}]`);
    }
    return `${tiles === 'bfloat16' ? 'b' : 'h'}${box.join(',')};`;
}
/** What the compiler sees; its messages name the lines of the files as they are. @internal */
export function kernelSource(file, define) {
    const defines = Object.entries(define).map(([name, value]) => `#define ${name} ${value}\n`);
    return `${defines.join('')}#line 1 "${basename(file)}"\n${inlineIncludes(file)}`;
}
/** NVRTC knows no files: `#include "x.cuh"` of the same folder is put in place, or of this one, where prelude.cuh is. */
function inlineIncludes(file) {
    return readFileSync(file, 'utf8')
        .split('\n')
        .map((line, i) => {
        const match = /^#include "([\w.-]+)"$/.exec(line);
        if (!match)
            return line;
        const beside = join(dirname(file), match[1]);
        const shared = fileURLToPath(new URL(match[1], import.meta.url));
        const included = existsSync(shared) && !existsSync(beside) ? shared : beside;
        return `#line 1 "${match[1]}"\n${readFileSync(included, 'utf8')}\n#line ${i + 2} "${basename(file)}"`;
    })
        .join('\n');
}
/** Where compiled code of this source is kept, without the architecture; empty where nothing can be kept. */
function cachePath(source) {
    const directory = join(cacheDirectory(), 'kernels');
    try {
        mkdirSync(directory, { recursive: true });
    }
    catch {
        return '';
    }
    return join(directory, createHash('sha256').update(source).digest('hex').slice(0, 32));
}
//# sourceMappingURL=kernel.js.map