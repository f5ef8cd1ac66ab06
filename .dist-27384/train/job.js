/** Of a job that was only to be checked. */
export function checkedOnly(directory) {
    return { outcome: 'stopped', step: 0, metrics: {}, directory };
}
/** Trains within a run that is open, and closes it with what came of it. */
export async function withinRun(run, signal, train) {
    try {
        const result = await train();
        await run.close(result.outcome);
        return result;
    }
    catch (error) {
        // A stop while models were being loaded: nothing was trained, and nothing is lost.
        if (signal.aborted && error === signal.reason) {
            const step = (await run.latest())?.step ?? 0;
            await run.close('stopped');
            return { outcome: 'stopped', step, metrics: {}, directory: run.directory };
        }
        await run.close('failed', error).catch(() => { });
        throw error;
    }
}
//# sourceMappingURL=job.js.map