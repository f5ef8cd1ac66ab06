/** `logs/`: what the pipeline said, and the numbers and curves of each stage. */
import { existsSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeDirectory, writeFileAtomic } from '../files/index.js';
import { chart, mainMetrics, Run, toPng, toSvg } from '../run/index.js';
const levels = ['debug', 'info', 'warning', 'error'];
/** Lines with their time, in `logs/pipeline.log` and to the person watching, from `logLevel` on; errors are said by whoever catches them. */
export class PipelineLog {
    config;
    report;
    constructor(config, report) {
        this.config = config;
        this.report = report;
    }
    async write(level, text) {
        if (levels.indexOf(level) < levels.indexOf(this.config.logLevel))
            return;
        if (level !== 'error')
            this.report.line(text);
        const folder = join(this.config.saveDir, 'logs');
        await makeDirectory(folder);
        await appendFile(join(folder, 'pipeline.log'), `${new Date().toISOString()} ${level.toUpperCase()} ${text}\n`);
    }
}
/** The metrics of a stage's run, and a picture of the main ones, under the stage's name. */
export async function keepStageLogs(saveDir, directory) {
    const folder = join(saveDir, 'logs');
    await makeDirectory(folder);
    const name = basename(directory);
    const metrics = join(directory, 'logs', 'metrics.jsonl');
    if (existsSync(metrics))
        await writeFileAtomic(join(folder, `${name}.metrics.jsonl`), await readFile(metrics));
    const view = await Run.read(directory);
    const shown = mainMetrics([view]);
    if (shown.length === 0)
        return;
    const drawing = chart({ runs: [{ name, metrics: view.metrics }], metrics: shown });
    await writeFileAtomic(join(folder, `${name}.svg`), toSvg(drawing));
    await writeFileAtomic(join(folder, `${name}.png`), toPng(drawing));
}
//# sourceMappingURL=stage-logs.js.map