/** How a training on a dataset's rows goes, whatever its loss: checks, run directory, model, loop, exports. */
import { openDataset, } from '../data/index.js';
import { Run } from '../run/index.js';
import { checkExamples, checkModels } from './check-plan.js';
import { EpochTraining, plannedSteps } from './epoch-training.js';
import { exampleDigest } from './example-digest.js';
import { checkedOnly, withinRun } from './job.js';
import { loadTrained } from './load-model.js';
import { requireMachine } from './machine.js';
import { memoryMetrics } from './memory-metrics.js';
import { planRows } from './plan.js';
import { trainProgress } from './progress.js';
import { runInputs } from './run-inputs.js';
import { keepTokenizer, runVersions } from './run-setup.js';
import { journalBlock } from './step-record.js';
import { harmlessFor } from './supervised-config.js';
/**
 * Everything that can be checked before weights are read and anything is written: the models' shapes, their tokenizer, every row
 * of the data. The caller closes the dataset.
 */
export async function prepareSupervised({ config, report, signal }, { kind, role, reference }) {
    const sequencesPerRow = kind === 'preferences' ? 2 : 1;
    const models = await checkModels(planRows(config, { kind, role, reference, sequencesPerRow }));
    requireMachine(models);
    const { tokenizer } = models;
    const { maxLength = models.models[0].config.decoder.context } = config;
    const resolved = { ...config, maxLength };
    const skipped = [];
    const checking = report.transfer('checking rows');
    try {
        const dataset = await openRows(resolved, kind, {
            answerEnd: answerEndOf(role),
            signal,
            onSkipped: row => skipped.push(row),
            onProgress: bytes => checking.at(bytes),
        });
        try {
            await checkExamples(dataset, tokenizer, 'data');
        }
        catch (error) {
            await dataset.close();
            throw error;
        }
        return { config: resolved, models, tokenizer, dataset, skipped };
    }
    finally {
        checking.end();
    }
}
/** A reward model reads the whole conversation as the chat template renders it, as in transformers and TRL. */
export const answerEndOf = (role) => (role === 'reward' ? 'template' : 'turn');
/** The dataset that a config names. */
export function openRows(config, kind, context) {
    return openDataset(kind, config.data, {
        trainOn: 'assistant',
        ...config,
        baseDirectory: process.cwd(),
        ...context,
    });
}
export async function runSupervised(job, trainer) {
    const prepared = await prepareSupervised(job, trainer);
    const { config, models, dataset } = prepared;
    try {
        if (job.onChecked?.({ models, data: [dataset.report] }) === 'stop')
            return checkedOnly(config.output);
        const run = await openRun(job, trainer, prepared);
        return await withinRun(run, job.signal, () => trainRun(job, trainer, prepared, run));
    }
    finally {
        await dataset.close();
    }
}
async function openRun({ origins, resume, allowChange, report, signal }, { command, reference }, { config, dataset }) {
    const { fingerprints } = dataset;
    const plain = JSON.parse(JSON.stringify(config));
    const { model, adapter, chatTemplate } = config;
    const inputs = await runInputs({ models: { model, adapter, reference }, chatTemplate, report, signal });
    const identity = { command, config: plain, origins, fingerprints, inputs, versions: runVersions() };
    const { keepCheckpoints } = config;
    return resume
        ? Run.resume(config.output, identity, {
            keepCheckpoints,
            allowChange,
            harmless: harmlessFor(config.optimizer),
            journalOf: state => journalBlock((state?.step ?? 0) + 1),
            onWarning: message => report.line(message),
        })
        : Run.create(config.output, identity, { keepCheckpoints });
}
async function trainRun(job, trainer, { config, tokenizer, dataset, skipped }, run) {
    const { report, signal } = job;
    const { command, kind, role, bestBy, shown } = trainer;
    const texts = await keepTokenizer(tokenizer, run.directory);
    const model = await loadTrained(config.model, { ...config, texts, role, what: config.model }, { report, signal });
    try {
        const rows = dataset.train(tokenizer);
        const validation = dataset.validation(tokenizer);
        const training = await EpochTraining.open({
            run,
            model,
            rows,
            config,
            validation: validation ? 'held out' : 'none',
            bestBy,
            digest: row => exampleDigest(kind, row),
            progress: trainProgress(report, { label: command, totalSteps: plannedSteps(rows.size, config), shown }),
            memory: () => memoryMetrics(model.device),
            signal,
        });
        if (run.fromStart)
            for (const row of skipped)
                run.skipped({ ...row });
        await trainer.loop({ config, run, model, dataset, tokenizer, training, validation, job });
        const { step, metrics, best, complete } = training;
        const outcome = complete ? 'finished' : 'stopped';
        return { outcome, step, metrics, ...(best ? { best } : {}), directory: run.directory };
    }
    finally {
        model.dispose();
    }
}
//# sourceMappingURL=supervised-job.js.map