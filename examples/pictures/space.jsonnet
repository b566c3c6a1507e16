// What a search tries of folder.jsonnet: tequio tune --space.
{
  params: [
    { parameterName: 'trainer.optimizer.lr', type: 'DOUBLE', minValue: 3e-4, maxValue: 0.03, scaleType: 'UNIT_LOG_SCALE' },
    { parameterName: 'data_loader.batch_size', type: 'DISCRETE', discreteValues: [8, 16, 32] },
    { parameterName: 'model.dropout', type: 'DOUBLE', minValue: 0, maxValue: 0.5 },
  ],
}
