"""Networks of transformers, from a configuration, with random weights."""

import transformers
from torch import nn

transformers.logging.set_verbosity_error()


class Named(nn.Module):
    """Takes its inputs by their names, gives one output."""

    def __init__(self, net, names, pick, fixed):
        super().__init__()
        self.net, self.names, self.pick, self.fixed = net, names, pick, fixed

    def forward(self, *fields):
        return self.net(**dict(zip(self.names, fields)), **self.fixed)[self.pick]


def without_dropout(config):
    for key, value in list(vars(config).items()):
        if "drop" in key and isinstance(value, float):
            setattr(config, key, 0.0)
        elif isinstance(value, transformers.PretrainedConfig):
            without_dropout(value)
    return config


def hugging(name, names, pick="logits", call=None, attention=None, **options):
    """The class of that name. `call`: what else forward is given."""
    def make():
        kind = getattr(transformers, name)
        config = without_dropout(kind.config_class(**options))
        if attention:
            config._attn_implementation = attention
        return Named(kind._from_config(config), names, pick, call or {})
    return make
