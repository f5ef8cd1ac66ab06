/** The curves of a demo, as SVG and PNG. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chart, toPng, toSvg } from '../run/index.js';
import { curveNames } from './run-demo.js';
/** Gives the files that were written. */
export async function drawCurves(directory, runs) {
    const drawing = chart({ runs, metrics: Object.values(curveNames) });
    const files = { svg: join(directory, 'curves.svg'), png: join(directory, 'curves.png') };
    await writeFile(files.svg, toSvg(drawing));
    await writeFile(files.png, toPng(drawing));
    return Object.values(files);
}
//# sourceMappingURL=picture.js.map